"""Words that people use for one another when they ask for something, and words that say little.

A lexical score knows only the words that stand there. Whoever needs an umbrella asks about the weather.
"""

from functools import cache

from rightcall.declare.words import stem
from rightcall.local.guided.wordlist import listed

_GROUPS = """
weather rain raining rainy umbrella sunny snow snowing cloudy forecast temperature cold warm hot wind
weather windy storm jacket degrees coat
forecast tomorrow weekend
buy purchase order get
order delivery package parcel shipment ship shipping deliver track tracking
delete remove erase drop clear trash discard cancel
cancel abort call-off
create add make new insert open set register put
update change edit modify adjust rename set
find search look locate lookup query
show list display view see
mail email e-mail message inbox write
send mail text message forward write tell
message text sms
price cost worth expensive cheap much quote
stock share ticker shares
convert exchange change turn conversion
currency money euro dollar pound yen exchange usd eur gbp
translate translation say mean french german spanish italian
translation language
schedule plan book arrange set appointment calendar
meeting appointment event calendar
book reserve reservation table booking
restaurant eat food dinner lunch hungry cuisine place
recipe cook dish meal bake ingredient make
flight fly plane airline ticket
train rail station railway travel
route direction way drive get directions
distance far away between kilometers miles
hotel room stay accommodation night
timer alarm countdown minutes wake
alarm wake
reminder remind remember forget
note write jot memo record
task todo
play song music listen hear track tune
song music track tune
movie film watch cinema
light lamp lights bulb switch dark bright
thermostat temperature heat heating warm degrees cool
turn switch set
lock unlock door
news headline headlines latest happening
time clock late hour o'clock
date day today weekday
calculate compute work multiply divide add sum plus minus
random dice roll coin flip pick number
roll dice die throw
flip coin toss heads tails
word count length long many characters letters
summarize summary shorten brief gist
define definition mean meaning dictionary
synonym similar thesaurus
spell spelling
pay transfer send money wire
balance account money bank much left
invoice bill charge
refund return money-back
tip gratuity bill
loan mortgage borrow payment
tax vat
weight heavy kilogram pound mass weigh
height tall high
width wide broad
length long
depth deep
age old
speed fast velocity quick
area size big square surface
volume loud louder quiet quieter sound capacity
bmi weight height
population people inhabitants live many
capital city
country nation
user customer member account person client
employee staff worker colleague
contact phone number call
call phone dial ring
document file report pdf
file open read document
folder directory
read open show
print output
download fetch save
upload post
post tweet publish share
photo picture image
resize scale shrink enlarge
inventory stock left available quantity
available free availability vacant open
product item article goods
cart basket
discount coupon voucher promo sale
rate interest percent
review rating opinion stars
score result game match win won
team club
player athlete
ticket issue bug support problem
issue bug problem ticket
close shut resolve finish
assign give hand
status state progress where
assignee assign give
log entry record
server machine host service
restart reboot
deploy release ship rollout
run execute start launch
stop end halt kill quit
pause hold wait
skip next
parking park car
car vehicle auto drive
taxi cab ride uber
doctor physician appointment patient
medicine drug medication pill dose
symptom ill sick
exercise workout train gym
calorie calories food nutrition eat diet
water plants plant garden
pet dog cat animal
hour minute second duration
holiday vacation leave off
transfer move send wire
transaction spend spent payment purchase bought
reverse backwards
open opening close closing hours shut
meeting appointment event calendar agenda busy free slot
reschedule move shift postpone delay
invite guest attendee
visit checkup appointment
prescription medicine refill
warehouse stock inventory shelf
shipment delivery parcel arrive arrival
supplier vendor
reorder restock replenish order
tag label mark
playlist song songs track tracks mix
artist band singer musician
album record
lyrics words
volume louder quieter loud turn
blind blinds shade curtain shutter
vacuum clean hoover robot sweep
length distance mile kilometer kilometre meter metre foot feet inch yard centimeter km
weight kilogram kilo pound ounce gram stone kg lb
temperature celsius fahrenheit kelvin degree
volume liter litre gallon cup pint milliliter
speed mph knot
area acre hectare
trip journey itinerary travel
luggage baggage bag suitcase
seat row place
cheap inexpensive budget affordable
complaint problem issue
pulse heart
workout run running swim swimming cycling ride exercise training
write record log note
job build task
salary wage pay earn
hire recruit
grade mark score
course class lesson lecture
student pupil
library book borrow shelf
author writer wrote written
quote saying
joke funny laugh
password secret login
gas gasoline petrol fuel
subtract minus difference
power squared cubed exponent raised
celsius centigrade
high urgent important
low minor
large big
small little
woman women female
man men male
detailed detail details
metric celsius kilometers
imperial fahrenheit miles
"""
_WEAK = frozenset(
    stem(word)
    for word in listed(
        """
    get find show list search give tell make set add create update check calculate compute return
    retrieve fetch look want information info detail details data value number name type based given
    specific particular certain current currently new using use user result results time day date
    year month today tomorrow available total amount different various provide provides include
    including know long many much best good great start end like one two three people person thing
    things way item between within first last next all per help please details city country place
    location determine generate recent latest latest currently today now general still
    anything something
    """
    )
)


_ACTS = frozenset(
    stem(word)
    for word in listed(
        """
    add assign block book buy cancel change clear close convert count create delete disable enable
    lock make move open order pay play post publish put refund remove rename reply reserve reset
    restart run schedule send set share start stop subscribe switch transfer translate turn unlock
    update upload write
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
    for line in _GROUPS.strip().splitlines():
        words = {stem(word) for word in line.split()}
        for word in words:
            near.setdefault(word, set()).update(words - {word})
    return {word: frozenset(others) for word, others in near.items()}


def kin_of(word: str) -> frozenset[str]:
    """The stems that may be meant by a stem."""
    return _kin().get(word, frozenset())


def is_act(word: str) -> bool:
    """Whether a stem says that something is done."""
    return word in _ACTS


def is_verb(word: str) -> bool:
    """Whether a stem says what a tool does, rather than what with."""
    return word in _ACTS or word in _LOOKS


def changes(word: str) -> bool:
    """Whether a stem says that something is done which is not so already."""
    return word in _ACTS and word not in _WORKS_OUT


def is_weak(word: str) -> bool:
    """Whether a stem says little about which tool is meant."""
    return word in _WEAK
