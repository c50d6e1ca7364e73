"""What English says in more than one way: spellings, frames of a wish, phrases of one meaning.

A row of words is written with alternatives, ``can|could i have``; ``-`` stands for no word, and ``?`` for "this asks
for yes or no". Every entry has to hold wherever it is found, for two turns that differ in it only are given the same
answer: "get" is no synonym of "have", but "can I get" and "can I have" are.
"""

from itertools import product
from typing import Final

from turngap.llm.speculation.language import Rewrites, Words


def rows(pattern: str) -> tuple[Words, ...]:
    """Every row of words that a pattern stands for."""
    found = product(*(word.split("|") for word in pattern.split()))
    return tuple(tuple(word for word in row if word != "-") for row in found)


def frames(lines: str) -> Rewrites:
    """A pattern on each line; each stands for nothing."""
    return Rewrites({row: () for line in lines.strip().splitlines() for row in rows(line) if row})


def table(lines: str) -> dict[Words, Words]:
    """``pattern = words`` on each line; on two lines of the same words the first counts."""
    found: dict[Words, Words] = {}
    for line in lines.strip().splitlines():
        pattern, _, stands_for = line.partition("=")
        for said in rows(pattern):
            found.setdefault(said, tuple(word for word in stands_for.split() if word != "-"))
    return found


SPELLINGS: Final = Rewrites(
    table(
        """
        ok|okey = okay
        o k = okay
        yeah|yep|yup|yea|ya|yah = yes
        nope|nah|naw = no
        gonna = going to
        wanna = want to
        gotta = got to
        lemme = let me
        gimme = give me
        dunno = do not know
        cuz = because
        til|till = until
        cannot = can not
        ive = i have
        im = i am
        youre = you are
        dont = do not
        doesnt = does not
        didnt = did not
        isnt = is not
        arent = are not
        wasnt = was not
        cant = can not
        wont = will not
        couldnt = could not
        wouldnt = would not
        shouldnt = should not
        havent = have not
        hasnt = has not
        thats = that is
        whats = what is
        wheres = where is
        theres = there is
        wi fi = wifi
        e mail = email
        a couple of|- = 2
        half a dozen = 6
        o clock = -
        oclock = -
        bye bye = bye
        are you able to = can you
        are we able to = can we
        am i able to = can i
        good bye = goodbye
        good morning = morning
        thank you = thanks
        2 times = twice
        two times = twice
        one time = once
        sec = second
        mins = minutes
        min = minute
        hrs = hours
        hr = hour
        km|kms|kilometre|kilometres = kilometers
        kg|kgs|kilogram|kilograms = kilos
        ml = milliliters
        oz = ounces
        lb|lbs = pounds
        metre|metres = meters
        litre|litres = liters
        bucks = dollars
        colour = color
        favourite = favorite
        centre = center
        cancelled = canceled
        cancelling = canceling
        tv|telly = television
        fridge = refrigerator
        pick up = pickup
        take out = takeout
        take away = takeout
        check|checking in = checkin
        check|checking out = checkout
        log|logged|logging in|into|on = login
        log|logged in to = login
        log|logged out|off = logout
        sign|signed|signing in|into = login
        sign|signed in to = login
        sign|signed out = logout
        """
    )
)

FRAMES: Final = frames(
    """
    i|we would like|love to|- get|have|order|-
    i|we want|need|wish to|- get|have|order|-
    i|we want|need some|a help to|with
    i|we have to
    i|we have got to
    i am|was looking|trying|hoping for|to
    i|we am|are calling|here to
    i|we wanted to
    i|we will have|take|get|do|try
    i am going to have|take|get|do|try
    we are going to have|take|get|do|try
    i think i will have|take|get|do|try
    i|we would prefer|like to
    i|we prefer
    i would say
    can|could|may i|we just|please|- get|have|order|-
    can|could|will|would you just|please|- get|give|bring|make|do|show|help|- me|us|-
    can|could|would you make|do that|it|this
    can|could i|we get|have|do that|it|this
    would you mind
    is it possible to
    would it be possible to
    let me|us just|- get|have|order|-
    give|get|bring|show me|us
    make that|it
    i was wondering if i|you|we could|can
    i wonder if i|you|we could|can
    go ahead and
    help me to|-
    hi|hello|hey there
    i|we want|need you to
    i|we would like you to
    excuse me
    """
)

WRAPPERS: Final = frames(
    """
    do you happen|- to|- know
    can|could|would|will you please|- tell|let|show me know|-
    i was just|- wondering
    i wonder
    i would like|love to know|ask
    i want|wanted|need to know|ask
    i am calling to ask|know
    can|may|could i ask
    may i know
    tell me
    let me know
    any idea
    i do not know
    """
)

_ASIDES = frames(
    """
    i mean
    you know
    if you do not mind
    if that is okay|possible|all|- right|-
    if possible
    by the way
    i guess
    i suppose
    for me please
    right now
    at the moment
    thanks a lot
    thanks so|very much
    thanks
    though
    """
)
# What is thanked for is not asked for.
_THANKED: Final = table("thanks|- so|very|a much|lot for = thanks for\nthanks for = thanks for")
_ASKED: Final = table("do|did you know = do you know")
ASIDES: Final = Rewrites({**_ASIDES.rows, **_THANKED, **_ASKED})

WHOLE: Final = table(
    """
    yes that is|was it = that is correct
    that is|was|will|would all|it|everything = done
    no|- that is|will be|- all|it|everything for|- now|today|tonight|- = done
    no|- that is|will be|- all|everything that|- i|we need|needed|wanted for|- now|today|tonight|- = done
    no|- i|we am|are all set|done|finished for|- now|today|- = done
    no i am|- good|fine|set for|- now|today|- = done
    no|- nothing else|more for|- now|today|tonight|- = done
    that is going to be all|it = done
    that will|would be all|it|everything = done
    nothing else|more = done
    i am done = done
    no that is all|it|everything = done
    no nothing else|more = done
    sure|absolutely|definitely|certainly = yes
    of course = yes
    yes sure|absolutely|definitely = yes
    wait|hold|hang on|- a|1|just|for 2th|moment|minute = moment
    wait|hold|hang on|- just|for a|1 2th|moment|minute = moment
    just|- a|1 2th|moment|minute = moment
    wait|hold|hang on|- = moment
    help me|us|- out|- = help
    can|could|will|would you please|- help me|us = help
    some help = help
    what time is it now|- = what is the time
    next song|track = next song
    skip this|the song|track = next song
    play|skip to|- the next song|track = next song
    turn up the volume = louder
    turn the volume up = louder
    volume up = louder
    make it louder = louder
    turn down the volume = quieter
    turn the volume down = quieter
    volume down = quieter
    make it quieter = quieter
    turn up the heat|heating = warmer
    turn the heat|heating up = warmer
    make it warmer|hotter = warmer
    turn down the heat|heating = colder
    turn the heat|heating down = colder
    make it cooler|colder = colder
    lights on = turn on the lights
    lights off = turn off the lights
    do you have any|a recommendations|recommendation = what do you recommend
    what|anything do|would|can|could you recommend = what do you recommend
    how are you doing|- = how are you
    sounds good|great|fine|perfect to|- me|- = that sounds good
    looks good|great|fine|perfect to|- me|- = that looks good
    it|that|- does not matter to|- me|- = no preference
    i|we|- do not mind|care = no preference
    i have no preference = no preference
    either|any 1|- is good|fine|okay = no preference
    either|any|anything|whatever is good|fine|okay with|by|for|- me|- = no preference
    either|any|anything|whatever will do = no preference
    pardon me|- = repeat that
    what did you say = repeat that
    what was that = repeat that
    i do not know = unsure
    i am not sure = unsure
    i have no idea|clue = unsure
    no idea|clue = unsure
    not sure = unsure
    thanks a lot = thanks
    thanks so|very much = thanks
    many thanks = thanks
    thanks for all|- your|the|- kind|great|- help|assistance|time|service today|- = thanks
    thanks for everything|information|info today|- = thanks
    thanks for your|the information|info today|- = thanks
    hello|hi|hey there|- = hello
    bye = goodbye
    see you later|- = goodbye
    """
)

OPENINGS: Final = Rewrites(
    table(
        """
        what hours are you open = what are your hours
        how much is|are|was = price
        how much will|would that|it be = price that
        what do i|we owe you|- = how-much i owe
        how long does|will it take to = how long take
        how long will it take = how long does it take
        tell|give|show|read|send me|us my = what is my
        check|tell|read my = what is my
        tell|give|show me|us your = what is your
        tell me|us the = what is the
        i|we do not want|need a|an|any|- = no
        your = what is your
        is|are there a|an|any|some|- = ? exist
        do you guys|- have|sell|offer|carry|serve a|an|any|some|- = ? exist
        do you guys|- have|sell|offer|carry|serve anything = ? exist anything
        have you got a|an|any|some|- = ? exist
        can|could|may i|we pay with|by|in|using a|my|- = ? accept a
        can|could|may i|we pay cash = ? accept cash
        do you guys|- take|accept = ? accept
        i|we have|got a|some question|questions about|regarding|on|concerning = question
        i|we have got a question about|regarding|on|concerning = question
        i am calling about|regarding|concerning = question
        it is about to = it is about to
        it is about = question
        how can|could|do|would|should i|we|you = how i
        where can|could|do|would|should i|we find|get|buy = where is
        where can|could|do|would|should i|we = where i
        when can|could|do|should i|we = when i
        at|- what time can|could|do|should i|we = when i
        how is = what is
        """
    )
)

PHRASES: Final = Rewrites(
    table(
        """
        at|- what time|hour = when
        until when = how late
        when exactly = when
        how come = why
        opening|business|working|store|shop hours|times = hours
        at all = -
        that is right|correct = that is correct
        you guys = you
        can|could not = not
        about to = soon-to
        able to = can
        far away = far
        free of charge = free
        unable to = not
        not able to = not
        do|does|did not have a|an|any|- = have no
        have|has got a|an|any|- no = have no
        have|has got = have
        has|have|had to = require
        need|needs to = require
        make|place a|an|my reservation|booking = reservation
        make|schedule|book|get a|an appointment = appointment
        set up an appointment = appointment
        book|reserve|get a table = table
        place|make an order = order
        am|is|are|be good|great|fine|perfect = is good
        works|work for me|us = is good
        say that|it again = repeat that
        repeat yourself = repeat that
        not catch|get|understand|hear that|you|it = not catch
        wake me|us up = wake me
        set|create|make an alarm for|at = wake me at
        set|create|make a reminder to|for = remind me to
        set|start|begin|create a timer = timer
        a timer = timer
        turn off the music = stop the music
        weather like = weather
        listen to = play
        of the day = today
        send it|this|them back = return it
        bring it|this|them back = return it
        park my|the car = park
        comes|come with = include
        anything free = anything available
        room|rooms free = rooms available
        table|tables free = tables available
        slot|slots free = slots available
        going to = will
        instead of = not
        rather than = not
        no 1 = nobody
        how many = how-many
        how much = how-much
        as well = too
        a lot of|- = lots
        plenty of = lots
        some of = partly
        put|get me through to = connect
        speak|talk|speaking|talking to|with = speak
        turn|switch|switched|turned on = turn on!
        """
    )
)
