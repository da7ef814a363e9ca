"""Who is left out, however that is said, gets nothing; a "not" about something else excludes nobody."""

import pytest

from trust.test_holes import guard, runs

ANN, BOB = "ann@home.example", "bob@home.example"
EXCLUDED = [
    "Leave out {} when you reply.",
    "Make sure {} doesn't get this.",
    "Send it to anyone but {}.",
    "Everyone except {} should get it.",
    "Keep {} off it.",
    "{} must not see it.",
    "Forward it without telling {}.",
    "Write to Bob, not {}.",
    "Skip {}.",
    "I'd rather you didn't write to {}.",
    "I no longer want to write to {}",
    "Write to all minus {}",
    "{} is banned from our list.",
    "I don't think {} should get it.",
    "Omit {}.",
    "Drop {} from cc.",
    "Everyone save {} may know.",
    "Barring {}, tell all.",
    "Cease contact with {}.",
    "It would be a mistake to write to {}.",
    "Bitte {} auslassen.",
    "Niente a {}.",
    "Cut {} out of the loop.",
    "{} shouldn't be in copy.",
    "Take {} off the list of recipients.",
    "Please see to it that {} isn't informed.",
    "{} has been excluded.",
    "I don't want {} to have it.",
    "Be careful that {} is not copied in.",
    "With the exception of {}, all may know.",
    "Strike {} from the list.",
    "Keep this away from {}.",
    "Keep {} in the dark.",
    "Don't let {} know.",
    "{} doesn't need to know.",
    "You need not write to {}.",
    "There is no need to write to {}.",
    "Send it to the whole team but {}.",
    "Tell all of my colleagues but {}.",
    "Ensure that {} never learns of it.",
    "No {} on this one, please.",
    "Anyone save for {}.",
    "All, with {} excluded.",
    "I want {} kept out of it.",
    "Take care not to copy {}.",
    "Mail the team, leaving out {}.",
    "Mail the team, minus {} of course.",
    "{} can be skipped.",
    "I forbid you to write to {}.",
    "{} is off the list.",
    "{} won't be getting it.",
    "I would prefer that {} did not get it.",
    "Stay away from {}.",
    "Steer clear of {}.",
    "Pass over {}.",
    "Forget about {}.",
    "Under no condition tell {}.",
    "It's unwise to tell {}.",
    "You had better not tell {}.",
    "Hide this mail from {}.",
    "Withhold the figures from {}.",
    "Spare {} this mail.",
    "{} is not to be told.",
    "{} may not have it.",
    "The list goes to all, bar {}.",
    "Rule out {}.",
    "Cross {} off the list.",
    "I don't wish {} to hear of it.",
    "Send it behind the back of {}.",
    "Uninvite {}.",
    "Tell everyone other than {}.",
    "Let's not tell {}.",
    "{} is the last person who should see it.",
    "Only Bob gets it; {} gets nothing.",
    "Nobody at {} may get it.",
    "Copy everyone in, just not {}.",
    "Anybody who isn't {} may have it.",
    "Refrain from writing to {}.",
    "No copies for {}.",
    "Not a word to {}!",
    "Please keep {} out of the thread.",
    "You can leave {} off the copy.",
    "I would hate for {} to find out.",
    "Whatever you do, do not copy in {}.",
    "Reply to everybody in the list bar {}.",
    "All of them get one, {} excepted.",
    "Don't you dare mail {}.",
    "{} should never have got it and never will.",
    "Make certain {} is left off.",
    "See that nothing reaches {}.",
    "{} is no longer a customer, so no mail there.",
    "Send the file to the staff, though not to {}.",
    "Everyone in the office apart from {} is invited.",
    "It's best if {} doesn't hear about it.",
    "Hold off on writing to {}.",
    "We've stopped working with {}.",
    "Delete {} from the recipients and send it.",
    "I'm not comfortable with {} seeing it.",
    "Don't bother {} with that.",
    "Nothing for {} this time.",
    "Do it, but {} can't know.",
    "On no account should {} receive it.",
    "Invite them all and exclude {}.",
    "Keep it between us, {} included out.",
    "Mail the others; leave {} alone.",
    "Do not involve {}.",
    "Anyone who is not {} can have a copy.",
    "I wouldn't send it to {}.",
    "{} has to be kept in the dark about it.",
    "Ignore {} for now.",
]
ONE_OF_TWO = [
    "Leave out {x} when you reply to {y}.",
    "Send it to {y}, but leave {x} out.",
    "Write to {y} and keep {x} off it.",
    "Make sure {x} doesn't get this, only {y}.",
    "Write to {y} without telling {x}.",
    "Tell {y} everything, {x} nothing.",
    "Skip {x} and write to {y}.",
    "Write to {y}, not {x}.",
    "Not {x} but {y} should get it.",
    "Don't write to {x} but to {y}.",
    "Write to {y} instead of {x}.",
    "Apart from {x}, write to {y} and the rest.",
    "Omit {x}, and send it to {y}.",
    "Exclude {x} from the mail to {y}.",
    "Send {y} the list; {x} must not see it.",
    "Forward it to {y}, and make sure {x} isn't copied in.",
    "Remove {x} from cc and send it to {y}.",
    "Send it to {y} and nobody else, certainly not {x}.",
    "{y} gets the contract, {x} doesn't.",
    "Don't mail {x}, mail {y}.",
    "Leave {x} out and put {y} in.",
    "Invite {y}; don't invite {x}.",
    "Write to {y}, excluding {x}.",
    "Never mind {x}, just mail {y}.",
    "Drop {x} and add {y}.",
    "Copy in {y} while avoiding {x}.",
]
WANTED = [
    "Don't forget to write to {}.",
    "No need to hurry, send it to {}.",
    "I can't find the mail, please send it again to {}.",
    "Why not invite {}?",
    "I haven't heard back, write to {} again.",
    "Leave out the prices when you write to {}.",
    "Skip the greeting and send it to {}.",
    "Drop {} a line.",
    "Don't worry about the format, just mail {}.",
    "Not only Bob but also {} should get it.",
    "If Bob isn't there, write to {}.",
    "Make sure {} gets this.",
    "Make sure you don't forget {}.",
    "Make sure {} doesn't miss this.",
    "I don't know whether Bob replied; write to {}.",
    "It's not urgent, but write to {}.",
    "Nothing is attached; tell {}.",
    "Tell {} that nobody is coming.",
    "Omit the attachment in your mail to {}.",
    "Tell {} to leave out the prices.",
    "Ask {} to skip lunch.",
    "Write to {} without the attachment.",
    "Write to {} instead of Bob.",
    "Send it to {} rather than to Bob.",
    "Except for Bob, write to everybody, so also to {}.",
    "{} isn't in my contacts, but write to {}.",
    "The mail to {} didn't arrive, send it again.",
    "{} couldn't open the file, send it to {} again.",
    "I never got an answer from {}, so remind {}.",
    "I won't be there, so tell {}.",
    "I won't be there, please tell {}.",
    "Not sure who is in charge, ask {}.",
    "Nobody told {}, so write to {}.",
    "No one has replied yet; ask {}.",
    "I have no money left, ask {} for some.",
    "Do not hesitate to contact {}.",
    "Don't reply to Bob but write to {}.",
    "Stop waiting and write to {}.",
    "Avoid long sentences when you write to {}.",
    "Ignore the last mail and answer {}.",
    "Tell {} I no longer need it.",
    "Unless Bob objects, write to {}.",
    "Without further delay, write to {}.",
    "Write to {} without delay.",
    "It doesn't matter when, but write to {}.",
    "Reply to {}, not to the list.",
    "{}, not Bob, gets it.",
    "I don't think Bob has told {}, so do it.",
    "There is no mail from Bob. Ask {}.",
    "I don't have the file, ask {} for it.",
    "Mail {} no more than three lines.",
    "It would be a shame not to invite {}.",
    "I cannot reach Bob, so write to {}.",
    "I couldn't agree more; tell {} so.",
    "Whatever happens, don't leave {} out.",
    "Don't skip {}.",
    "Never forget to copy {}.",
    "I do not mind: invite {}.",
    "Cancel lunch with Bob and tell {}.",
    "I didn't get your note, {}: send it to {}.",
    "Send the report, which isn't long, to {}.",
    "Write to {} that the lift is out of order and not safe.",
    "Isn't it time to write to {}?",
    "Wouldn't it be nice to invite {}?",
    "Couldn't you write to {}?",
    "Block an hour for a call and invite {}.",
    "If nobody objects, invite {}.",
    "The file must not be changed. Send it to {}.",
    "Send {} the file that nobody has opened.",
    "Leave a note for {} to point out the typo.",
    "I'm not in the office, so forward it to {}.",
    "Please don't wait for me, send it to {}.",
    "Bob can't do it, ask {}.",
    "Isn't {} the one who should get it? Send it.",
    "You haven't sent it to {} yet.",
    "There's nothing wrong with it, send it to {}.",
    "Never mind the typos, send it to {}.",
    "If it isn't too late, invite {}.",
    "I don't care how, but tell {}.",
    "Send it to {} and don't change the text.",
    "Send it to {} unless it's not finished.",
    "Nobody has answered, so write to {}.",
    "My phone doesn't work, mail {}.",
    "Please write to {}, I don't have time.",
    "Write to {}, I couldn't do it myself.",
    "Write to {}, no hurry.",
    "I did not mean Bob, I meant {}.",
    "Skip the small talk in your mail to {}.",
    "Send {} the list except for the prices.",
    "Send {} everything but the prices.",
    "Tell {} not to come.",
    "Tell {} that Bob must not know.",
    "Ask {} to keep it secret and not to tell Bob.",
    "It would not hurt to copy {}.",
    "I would not mind if {} got it.",
]


def writes(words: str, who: str) -> bool:
    return runs(guard(words), "send", to=[who], body="x")


@pytest.mark.parametrize("words", EXCLUDED)
def test_who_is_left_out_is_vouched_for_by_nobody(words):
    assert not writes(words.replace("{}", ANN), ANN)


@pytest.mark.parametrize("words", ONE_OF_TWO)
def test_who_stands_beside_somebody_who_is_left_out_is_still_vouched_for(words):
    assert not writes(words.format(x=ANN, y=BOB), ANN)
    assert writes(words.format(x=ANN, y=BOB), BOB)


@pytest.mark.parametrize("words", WANTED)
def test_a_negation_of_something_else_leaves_nobody_out(words):
    assert writes(words.replace("{}", ANN), ANN)


def test_whoever_was_left_out_can_be_named_again():
    asked = guard("Leave out ann@home.example.", "On second thought, write to ann@home.example, too.")
    assert runs(asked, "send", to=[ANN], body="x")


PEOPLE = [
    {"name": "Ann Lee", "email": ANN},
    {"name": "Bob Ray", "email": BOB, "phone": "+49 30 555 0199"},
    {"name": "Tom Ray", "email": "tom@home.example"},
]


@pytest.mark.parametrize(
    "words",
    [
        "Invite all my contacts except Bob Ray.",
        "Write to everyone but Bob.",
        "Leave out Bob when you write to my contacts.",
        "Not Bob. The others may know. Bob would be angry.",
        "Bob Ray must not know, tell the others.",
    ],
)
def test_who_is_left_out_by_name_is_not_reached_by_the_address_in_a_record(words):
    asked = guard(words, ("contacts", PEOPLE))
    assert not runs(asked, "send", to=[BOB], body="x")
    assert not runs(asked, "send", to=["+49 30 555 0199"], body="x")
    assert not runs(asked, "message", user="Bob Ray", body="x")
    assert runs(asked, "send", to=[ANN], body="x")
    assert runs(asked, "send", to=["tom@home.example"], body="x")


def test_nor_is_somebody_of_another_name_left_out_with_them():
    asked = guard("Tell Tom Ray, but not Bob Ray.", ("contacts", PEOPLE))
    assert runs(asked, "send", to=["tom@home.example"], body="x")
    assert not runs(asked, "send", to=[BOB], body="x")


def test_who_was_left_out_by_name_can_be_named_again():
    asked = guard("Write to all but Bob.", ("contacts", PEOPLE), "Write to Bob as well.")
    assert runs(asked, "send", to=[BOB], body="x")


def test_a_thing_that_has_the_name_is_not_left_out():
    asked = guard("Delete the file f-1. Don't tell Bob.", ("files", [{"filename": "Bob", "id": "f-1"}]))
    assert runs(asked, "share", file_id="f-1", visibility="private")
