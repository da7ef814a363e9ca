"""Synonyms that people use in questions, and words that carry little meaning.

A lexical score only sees the words in the text. A person who asks about an umbrella means the weather.
"""

import re
from functools import cache

from rightcall.declare.search_words import stem
from rightcall.local.guided.wordlist import listed

_GROUPS = """
weather rain raining rainy umbrella sunny snow snowing cloudy forecast temperature cold warm hot wind,
weather windy storm jacket degrees coat, forecast tomorrow weekend, buy purchase order get,
order delivery package parcel shipment ship shipping deliver track tracking,
delete remove erase drop clear trash discard cancel, cancel abort call-off,
create add make new insert open set register put, update change edit modify adjust rename set,
find search look locate lookup query, show list display view see,
mail email e-mail message inbox write, send mail text message forward write tell, message text sms,
price cost worth expensive cheap much quote, stock share ticker shares,
convert exchange change turn conversion, currency money euro dollar pound yen exchange usd eur gbp,
translate translation say mean french german spanish italian, translation language,
schedule plan book arrange set appointment calendar, meeting appointment event calendar,
book reserve reservation table booking, restaurant eat food dinner lunch hungry cuisine place,
recipe cook dish meal bake ingredient make, flight fly plane airline ticket,
train rail station railway travel, route direction way drive get directions,
distance far away kilometers miles, hotel room stay accommodation night,
timer alarm countdown minutes wake, alarm wake, reminder remind remember forget,
note write jot memo record, task todo, play song music listen hear track tune, song music track tune,
movie film watch cinema, light lamp lights bulb switch dark bright,
thermostat temperature heat heating warm degrees cool, turn switch set, lock unlock door,
news headline headlines latest happening, time clock late hour o'clock, date day today weekday,
calculate compute work multiply divide add sum plus minus, random dice roll coin flip pick number,
roll dice die throw, flip coin toss heads tails, word count length long many characters letters,
summarize summary shorten brief gist, define definition mean meaning dictionary,
synonym similar thesaurus, spell spelling, pay transfer send money wire,
balance account money bank much left, invoice bill charge, refund return money-back, tip gratuity bill,
loan mortgage borrow payment, tax vat, weight heavy kilogram pound mass weigh, height tall high,
width wide broad, length long, depth deep, age old, speed fast velocity quick,
area size big square surface, volume loud louder quiet quieter sound capacity, bmi weight height,
population people inhabitants live many, capital city, country nation,
user customer member account person client, employee staff worker colleague, contact phone number call,
call phone dial ring, document file report pdf, file open read document, folder directory,
read open show, print output, download fetch save, upload post, post tweet publish share,
photo picture image, resize scale shrink enlarge, inventory stock left available quantity,
available free availability vacant open, product item article goods, cart basket,
discount coupon voucher promo sale, rate interest percent, review rating opinion stars,
score result game match win won, team club, player athlete, ticket issue bug support problem,
issue bug problem ticket, close shut resolve finish, assign give hand, status state progress where,
assignee assign give, log entry record, server machine host service, restart reboot,
deploy release ship rollout, run execute start launch, stop end halt kill quit, pause hold wait,
skip next, parking park car, car vehicle auto drive, taxi cab ride uber,
doctor physician appointment patient, medicine drug medication pill dose, symptom ill sick,
exercise workout train gym, calorie calories food nutrition eat diet, water plants plant garden,
pet dog cat animal, hour minute second duration, holiday vacation leave off, transfer move send wire,
transaction spend spent payment purchase bought, reverse backwards,
open opening close closing hours shut, meeting appointment event calendar agenda busy free slot,
reschedule move shift postpone delay, invite guest attendee, visit checkup appointment,
prescription medicine refill, warehouse stock inventory shelf, shipment delivery parcel arrive arrival,
supplier vendor, reorder restock replenish order, tag label mark, playlist song songs track tracks mix,
artist band singer musician, album record, lyrics words, volume louder quieter loud turn,
blind blinds shade curtain shutter, vacuum clean hoover robot sweep,
length distance mile kilometer kilometre meter metre foot feet inch yard centimeter km,
weight kilogram kilo pound ounce gram stone kg lb, temperature celsius fahrenheit kelvin degree,
volume liter litre gallon cup pint milliliter, speed mph knot, area acre hectare,
trip journey itinerary travel, luggage baggage bag suitcase, seat row place,
cheap inexpensive budget affordable, complaint problem issue, pulse heart,
workout run running swim swimming cycling ride exercise training, write record log note,
job build task, salary wage pay earn, hire recruit, grade mark score, course class lesson lecture,
student pupil, library book borrow shelf, author writer wrote written, quote saying, joke funny laugh,
password secret login, gas gasoline petrol fuel, subtract minus difference,
power squared cubed exponent raised, celsius centigrade, high urgent important, low minor, large big,
small little, woman women female, man men male, detailed detail details, metric celsius kilometers,
imperial fahrenheit miles, energy electricity power consumption current,
complete finish finished done tick mark close, event planned plan calendar diary happening,
doctor dr physician, note remember save store keep write, play hear listen hearing start,
count quantity stock units pieces many, duration time long take, appointment see visit,
fee charge cost price pay owe, price charge owe pay, bill owe total pay invoice,
total sum altogether overall, balance owe left remaining, remaining left rest, deadline due,
arrive arrival reach land landing, depart departure leave leaving, opening open hours closing,
hours open closed shift, shift work duty rota roster, attend attendance absent present,
absence sick absent ill, homework assignment exercise, teacher professor tutor, pass exam test grade,
enroll enrol join register sign subscribe signup, unsubscribe leave quit cancel,
member membership join, borrow lend loan checkout, renew extend prolong longer, return bring,
overdue late fine, fine penalty fee late, deposit put pay save, withdraw take cash,
spend expense cost bought, expense spend spent cost, budget spend limit, interest rate loan,
donate donation give, insurance policy cover covered claim, claim damage accident,
damage broken damaged crack dent, repair fix broken mend, maintenance service repair inspection,
inspect inspection check, tyre tire wheel, fuel petrol diesel refuel tank, charge battery plug,
mileage miles driven kilometers odometer, engine motor, speed drive fast, traffic jam congestion,
bus tram stop line, departure next leave go, ferry boat ship, cabin berth, platform track,
delay late delayed, gate boarding terminal, passport visa enter entry, feed food fed eat,
vaccinate vaccination shot jab vaccine, weigh weight heavy scale, adopt adoption, breed kind,
vet veterinarian, water watering irrigate sprinkle thirsty, plant sow grow seed, harvest pick crop,
soil ground earth, sun sunrise sunset light dawn dusk, moon phase lunar, star constellation sky,
planet orbit, tide sea water, pollen allergy hay, air pollution quality smog,
humidity damp humid moisture, earthquake quake, snow ski slope, pressure barometer,
sleep slept bed nap, step walk walked, heart pulse heartbeat, blood pressure, dose dosage pill tablet,
allergy allergic, menu dish serve order eat, table seat reserve, ingredient contain contains,
oven bake degrees, portion serving servings people, vegetarian vegan meatless, wine bottle cellar,
coffee espresso latte, tip waiter, room booking vacant, guest people visitor party,
exhibition exhibit show display, museum gallery, painting picture artwork, concert gig show,
ticket seat entry admission, admission entry entrance, lap race, race marathon run, goal score,
standing table league rank ranking, rank ranking place top, train workout, coach trainer,
rent lease tenant, tenant renter resident, house home property apartment flat, apartment flat,
mortgage loan house, heating radiator thermostat boiler, fan ventilation air, window blind shutter,
camera picture video, door gate garage, alarm security siren, arm enable activate,
disarm disable deactivate, mute silence quiet, brightness dim bright darker brighter,
dim darker brightness, color colour hue, sensor reading measure, mail inbox unread letter,
reply answer respond, forward pass send, draft compose write, attachment attach file, archive store,
spam junk, subject title, thread conversation, channel room chat, mention tag, follow subscribe,
like favourite favorite heart star, comment remark feedback, survey poll vote, vote ballot poll,
commit change, branch fork, merge combine join, build compile, test check,
error failure exception crash fail, crash fail, uptime running alive, ping reach reachable alive,
backup copy save, restore recover bring, disk storage space, memory ram, cpu processor load,
log logs output trace, version release, container pod instance, replica instance scale,
queue backlog waiting, certificate cert ssl, domain site website, dns domain, url link address,
short shorten, qr code, encode encoding, decode decoding, hash digest checksum,
uppercase capital capitals upper shout, lowercase lower small, palindrome backwards, anagram letters,
vowel letters, rhyme rhymes, translate language, prime divisible, factor divide, root sqrt square,
average mean, median middle, percentage percent share, ratio share, round nearest, circle round,
perimeter around, circumference around circle, diameter across, square squared, age old born birthday,
birthday born, weekday day, week calendar, leap year, timezone time zone clock, sunrise dawn,
customer client buyer, supplier vendor seller, lead prospect, deal sale, sale sell sold revenue,
revenue turnover earnings sales income, profit margin, order purchase bought, ship send dispatch,
return send, track where find, parcel package box, address live street, zip postcode postal,
phone telephone mobile, salary earn paid, leave vacation holiday days, candidate applicant,
job position vacancy, colleague coworker teammate, manager boss, department team, desk seat workplace,
meeting call, room conference, minutes protocol, approve accept confirm ok, reject decline refuse deny,
confirm confirmation, postpone delay later move, earlier sooner, extend longer, cancel drop scrap,
swap exchange trade, split divide share, combine merge, compare difference versus, difference compare,
recommend suggest suggestion recommendation, nearby near close closest, closest nearest near,
nearest closest near, cheapest lowest, fastest quickest, largest biggest, count many number,
remove take, add put include, append add, insert put, empty clear, start begin launch turn,
stop turn end, rename name, copy duplicate, find where, owner belongs, author wrote,
language speak spoken, mountain high peak, river long, lake deep, buy bought, sell sold, send sent,
write wrote written, pay paid, spend spent, make made, leave left, sleep slept, run ran, eat ate eaten,
drive drove driven, fly flew flown, take took taken, give gave given, find found, lose lost, keep kept,
tell told, meet met, begin began begun, break broke broken, grow grew grown, lend lent,
speak spoke spoken, steal stole stolen, swim swam, teach taught, wake woke, win won, build built,
catch caught, choose chose chosen, draw drew drawn, forget forgot forgotten, hide hid hidden,
hold held, shoot shot
"""
_SAID_FOR = """
play: put on
price cost: set me back, how much is, how much are, how much does, how much do, how much would
price: how much for
complete: tick off, tick it off, cross off, is done, i finished, i have finished
delete remove: get rid of, throw away, throw out, take off
cancel: call off, scrap
find search: look up, do we have, do you have, is there
submit: hand in
register: sign up
note: write down, jot down, note down
calculate: work out, figure out
duration time: how long
distance: how far
age: how old
height: how tall, how high
weight: how heavy
count number: how many
schedule hours: when does, when do, what time does
status: what happened to, any news, is it done, how is it going
alarm: wake me, get me up
postpone reschedule: put off, push back, move back, bring forward
return: give back, send back, bring back
stock: run out, in stock, left in
weather: is it going to, will it
temperature: how warm, how cold, how hot
speed: how fast
size: how big, how large
balance: how much do i have, how much is left, how much money
charge: top up, fill up
travel: get from, go from, get to
contact: get hold of, get in touch, reach out
message: let him know, let her know, let them know
save: keep in mind, for later
increase raise: turn up, crank up
decrease lower: turn down
author: who wrote, who is behind
"""
"""By meaning: the phrases of several words for it."""
_KINDS = """
room: kitchen bathroom bedroom hall hallway office lounge nursery garage cellar basement attic study
room: studio corridor balcony terrace porch library lobby
pet animal: dog cat hamster rabbit parrot horse goldfish
meal: breakfast lunch dinner supper brunch snack
sport: tennis football soccer basketball hockey golf cricket rugby swimming volleyball
colour color: red green blue yellow orange purple pink black white grey gray brown
season: spring summer autumn fall winter
instrument: guitar piano violin drums flute trumpet cello
crop plant vegetable: tomato potato carrot onion lettuce basil rose cucumber pepper wheat
drink: coffee tea juice beer wine milk
"""
"""Kinds and their members."""
_WEAK = frozenset(
    stem(word)
    for word in listed(
        """
    get find show list search give tell make put set add create update check calculate compute return
    retrieve fetch look want information info detail details data value number name type based given
    specific particular certain current currently new using use user result results time day date
    year month today tomorrow available total amount different various provide provides include
    including know long many much best good great start end like one two three people person thing
    things way item between within first last next all per help please details city country place
    location determine generate recent latest latest currently today now general still
    anything something feel moment afterwards altogether kindly
    """
    )
)


_ACTS = frozenset(
    stem(word)
    for word in listed(
        """
    activate add adjust apply approve archive assign block book buy call cancel change clear close
    complete convert count create deactivate delete deposit dim disable donate draw email enable enroll
    erase feed finish give hire install invite lock lower make mark move mute open order pause pay phone
    play post postpone print publish put raise redeem refund register reject remove rename renew rent
    reorder reply reschedule reserve reset restart resume run save schedule sell send set share sing
    skip snooze start stop submit subscribe switch teach transfer translate turn unlock unsubscribe
    update upload withdraw write
    """
    )
)
_LOOKS = frozenset(
    stem(word) for word in listed("find search look lookup show list get check read fetch")
)
_WORKS_OUT = frozenset(stem(word) for word in ["convert", "count", "translate"])


@cache
def _kin() -> dict[str, frozenset[str]]:
    near: dict[str, set[str]] = {}
    for group in _GROUPS.split(","):
        words = {stem(word) for word in group.split()}
        for word in words:
            near.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in near.items()}


@cache
def _kinds() -> dict[str, frozenset[str]]:
    kinds: dict[str, set[str]] = {}
    for line in _KINDS.strip().splitlines():
        names, _, words = line.partition(": ")
        for name in names.split():
            kinds.setdefault(stem(name), set()).update(map(stem, words.split()))
    return {name: frozenset(words) for name, words in kinds.items()}


def kinds_of(word: str) -> frozenset[str]:
    """The stems of the members of a kind, given the kind's stem."""
    return _kinds().get(word, frozenset())


def kin_of(word: str) -> frozenset[str]:
    """The stems that a stem may mean."""
    return _kin().get(word, frozenset())


@cache
def _said_for() -> tuple[tuple[re.Pattern[str], frozenset[str]], ...]:
    found = []
    for line in _SAID_FOR.strip().splitlines():
        meant, _, ways = line.partition(": ")
        either = "|".join(way.strip() for way in ways.split(","))
        found.append(
            (re.compile(rf"\b(?:{either})\b", re.IGNORECASE), frozenset(map(stem, meant.split())))
        )
    return tuple(found)


def implied_by(text: str) -> frozenset[str]:
    """The stems of the phrases in a text: "how far" is about a distance."""
    return frozenset().union(*(stems for way, stems in _said_for() if way.search(text)))


def is_act(word: str) -> bool:
    """Whether a stem is an action."""
    return word in _ACTS


def is_verb(word: str) -> bool:
    """Whether a stem says what a tool does, and not with what."""
    return word in _ACTS or word in _LOOKS


def changes(word: str) -> bool:
    """Whether a stem is an action that changes something."""
    return word in _ACTS and word not in _WORKS_OUT


def is_weak(word: str) -> bool:
    """Whether a stem says little about which tool is meant."""
    return word in _WEAK
