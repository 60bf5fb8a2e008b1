"""Stems of English words, by which the words of sentences, tools and fields are compared, and words that name none."""

from __future__ import annotations

import re

FUNCTION = frozenset(
    """a about above action actions after again agent all also always an and any api are as assistant at be because been
 before being between both but by call calls can cannot could customer database did do does during each either else
 for from given has have he her his how id ids if in include info information into is it its itself least made make
 may might more most must name need never no nor not of on once one only onto or other our out over own per person
 please request requests same shall she should so some such take taken than that the their them then there these they
 this those through to tool tools two under until up upon use used user users using was we were what when where
 whether which while who whose will with within without would yes you your""".split()
)
IRREGULAR = dict(
    pair.split(":")
    for pair in """
        has:have had:have having:have is:be are:be was:be were:be been:be being:be am:be does:do did:do done:do
        doing:do made:make bought:buy paid:pay sent:send gave:give given:give took:take taken:take chose:choose
        chosen:choose wrote:write written:write sold:sell told:tell said:say kept:keep held:hold left:leave lost:lose
        met:meet read:read put:put set:set let:let got:get gotten:get went:go gone:go came:come knew:know known:know
        saw:see seen:see found:find thought:think brought:bring built:build spent:spend spoke:speak spoken:speak
        drove:drive driven:drive flew:fly flown:fly broke:break broken:break hid:hide hidden:hide began:begin
        begun:begin ran:run sat:sit stood:stand understood:understand won:win wore:wear worn:wear drew:draw drawn:draw
        fell:fall fallen:fall forgot:forget forgotten:forget froze:freeze frozen:freeze grew:grow grown:grow
        shown:show showed:show signed:sign stolen:steal stole:steal swore:swear sworn:swear threw:throw thrown:throw
        bound:bind fed:feed felt:feel led:lead lent:lend meant:mean dealt:deal children:child people:person
        persons:person men:man women:woman feet:foot data:data media:media news:news series:series addresses:address
        address:address business:business access:access process:process status:status bus:bus buses:bus class:class
        classes:class less:less pass:pass miss:miss discuss:discuss always:always https:https sms:sms gps:gps
        analysis:analysis basis:basis bonus:bonus virus:virus campus:campus during:during nothing:nothing
        anything:anything something:something everything:everything morning:morning evening:evening thing:thing
        string:string king:king ring:ring bring:bring sing:sing building:building meeting:meeting need:need feed:feed
        speed:speed exceed:exceed proceed:proceed succeed:succeed hundred:hundred bed:bed red:red shared:share
        lying:lie dying:die tying:tie ties:tie lies:lie dies:die using:use used:use uses:use owed:owe owing:owe
        programme:program programmes:program cancelled:cancel cancelling:cancel cancellation:cancel
        cancellations:cancel authorised:authorize authorized:authorize
    """.split()
)
_ENDINGS = "ations ation ments ment ings ing ions ion ies ied ed es s e y".split()


def stem(word: str) -> str:
    """The word without its English endings; good for comparing words, not for showing them."""
    whole = IRREGULAR.get(word) == word  # "proceed" and "building" have no ending
    word = IRREGULAR.get(word, word)
    for ending in () if whole else _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    while len(word) > 3 and word[-1] in "ey":
        word = word[:-1]
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiou" else word


def stems(text: str) -> tuple[str, ...]:
    """The stems of the words of a text in order, function words left out."""
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text.replace("’", "'")).replace("_", " ").lower()
    text = re.sub(r"\be-(?=mail)", "e", re.sub(r"'s\b", "", text))
    return tuple(stem(w) for w in re.findall(r"[a-z]{2,}", text) if w not in FUNCTION)
