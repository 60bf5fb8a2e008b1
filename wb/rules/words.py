"""Words that decide what a sentence may be: of force, exception and limit; and those it shares with tools.

Closed lists of English words, the same for every engine.  They never make a rule: they say whether a
sentence that no rule was read from may be left aside, for a reason that can be seen in it, or stays open.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from wb.domain.tools import Field, Tool, Toolbox, within
from wb.rules.stems import FUNCTION, stem, stems

_AGENT = r"(?:agents?|assistants?|bots?|representatives?|operators?|employees?|staff|you|we)"
_USER = (
    r"(?:users?|customers?|clients?|guests?|patients?|visitors?|readers?|students?|pupils?|tenants?|applicants?|"
    r"residents?|minors?|children|adults?|persons?|people|anyone|anybody|everyone|everybody|nobody|who)"
)
_AUXILIARY = "is|are|was|were|has|have|had|can|may|could|might|will|would|does|did"
_UN = r"un(?!der|ion|iq|it|ivers|iform|ify|ifi|til\b|to\b|do\b|less|usual|animous)[a-z]{3,}"  # "unwelcome", not "until"
_BAD = (  # what is bad, over or forbidden: said of a thing, or a head that things stand under
    r"inappropriate|impossib\w+|no-?nos?|red lines?|sins?|crimes?|criminal|deal[- ]?breakers?|blocked|frozen|stopped|"
    r"veto(?:e?s|ed)?|verboten|embargo(?:e?s|ed)?|(?:black|block|deny|stop|ban|kill)[- ]?list(?:s|ed)?|interdict\w*|"
    r"proscri\w+|against|harmful|sackable|gone|out of (?:bounds|order|line|scope|reach)"
)
_NUMBER = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundred|thousand)"
)
_PARTY = re.compile(rf"\b(?:{_AGENT}|{_USER})\b", re.I)
_EVERYBODY = re.compile(
    rf"(?:(?:all|every|each)\s+{_USER}|(?!persons\b)(?=\w+s\b|every|children){_USER}|employees)\s+"
    rf"(?!(?!would|does|did)(?:{_AUXILIARY}|who|whose|that|with)\b)[a-z]+",
    re.I,
)
_EXEMPT = re.compile(
    r"\b(?:need not|needn't|(?:do|does)(?: not|n't) (?:\w+ly )?(?:need|have) to|no need to|"
    r"not (?:required|obliged|necessary)|not limited to|reserves? the right)\b|\b(?:is|are) exempt\b",
    re.I,
)
_FORCE = re.compile(
    r"\b(?:must|shall|should|ought|ha(?:s|ve|d) to|needs? to|need(?:s|ed)? (?:an?|the)\b|cannot|can not|can't|"
    r"could not|(?:may|might) not|never|required|requires?|requirements?|mandatory|compulsory|obligat\w+|obliged|"
    r"prohibit\w*|forbid\w*|banned|unacceptable|impermissible|disallow\w*|"
    r"(?:not|isn't|aren't) (?:\w+ly )?(?:allowed|permitted|possible|eligible|\w+able)|"
    r"non-?(?:refundable|transferable)|ineligible|denied|refused|declined|rejected|expected to|supposed to|"
    r"(?<!held )responsible for (?:\w+ly )?\w+ing|(?:is|are|be) (?:[\w']+ ){0,2}(?:duty|duties|responsibility|"
    r"responsibilities) (?:of|to)|incumbent (?:up)?on|subject to|remember to|make sure|"
    r"be (?:sure|careful|cautious|aware)|take care|violations?|illegal\w*|unlawful\w*|malpractice|misconduct|"
    r"offen[cs]es?|fraud\w*|void|taboo|off[- ]limits|"
    r"out of the question|off the table|no-go|not (?:ok|okay|legal|on|done)|wrong|improper|unethical|inadmissible|"
    r"outlawed|abolished|discontinued|ceas(?:e|es|ed)|excluded|precluded|unauthori[sz]ed|unavailable|unthinkable|"
    r"avoided|frowned upon|punishable|against the rules|breach\w*|contraven\w*|on hold|closed (?:to|for)|locked for|"
    r"ruled out|stops? short|draws? the line|turned away|hands off|(?:keep|stay) (?:away|off|out|clear)|withdrawn|"
    r"revoked|rescinded|repealed|dismissal|dismissed|suspended|barred|sanction\w*|penal\w*|neither|nor|"
    r"refrain|nobody|no one|no-one|nothing else|by no means|under no|in no (?:case|event)|at no time|"
    r"zero[- ]tolerance|not tolerated|intolerable|non-negotiable|inviolable|sine qua non|indispensable|imperative|"
    r"(?:is|are|(?<!might )(?<!may )(?<!could )be|remains?|it's) (?:(?!not\b)\w+ )?(?:essential|vital|crucial|"
    r"paramount|necessary|needed|called for|a condition)|"
    r"important (?:to|that)|necessit(?:y|ies)|prerequisites?|preconditions?|insists?|"
    r"(?:do|does)(?: not|n't) (?:count|qualify|suffice)|(?:last|final) (?:word|say)|forget (?:about|\w+ing)|"
    r"no (?:way|getting) around|(?:contingent|conditional) (?:up)?on|(?:is|are) to be)\b|\bwon't\b|(?<!to )\bensure\b|"
    r"(?:\A|[.:;,(]\s*|\bplease\s+|\band\s+)(?:do not|don't)\b|"
    rf"\b{_AGENT} (?:\w+ly )?will(?: not)? (?!be \w+(?:ed|en)\b)|[❌✗✘🚫⛔🛑]",
    re.I,
)
_DEMAND = re.compile(  # "is to have", "are not to keep"; no word of place or thing follows
    r"\b(?:is|are)(?: (?:not|never|always|also|only|then|still|therefore|thus|first|in turn))? to "
    r"(?!(?:an?|the|this|that|these|those|his|her|its|our|your|my|their|some|any|all|each|every|no|one|two|us|you|them|"
    r"me|him|it|what|which|whom|date|say|scale)\b)[a-z]+\b",
    re.I,
)
_AIM = re.compile(  # "the aim of the house is to help"
    r"\b(?:aims?|goals?|purposes?|tasks?|jobs?|roles?|points?|ideas?|intent\w*|objectives?|missions?|plans?|ways?|"
    r"steps?|functions?|reasons?|keys?|tricks?|hopes?|wish(?:es)?|options?|alternatives?|approach(?:es)?|solutions?|"
    r"methods?|strateg(?:y|ies)|advantages?|benefits?|uses?|work|challenges?|effects?|motivations?|priorit(?:y|ies)|"
    r"focus|visions?|ambitions?|promises?|choices?|practices?|recommendations?|suggestions?|tendenc(?:y|ies)|"
    r"desires?|problems?|best|easiest|simplest|what|as)\b(?: [\w',-]+){0,8}\W*\Z",
    re.I,
)
_DENIED = re.compile(
    r"\b(?:is|are|be|been)(?: not|n't) (?:\w+ly )?(?:\w+(?:ed|wn|ven|ken|ld|nt)|made|paid|done|kept|let|put|set|cut|"
    r"shut|lost|met|left|read|said|laid|found|bought|brought|taught|caught|begun|run|won|fed|led|split)\b",
    re.I,
)
_SUBORDINATE = re.compile(r"\b(?:if|when|whether|that|who|which|because|unless)\b[^,;]*", re.I)
_LIMIT = re.compile(
    r"(?<!-)\b(?:only|solely|exclusively|except\w*|unless|without|until|other than|instead of|rather than|but not|"
    r"but of|nothing but|not both|(?<!leave )(?<!let )alone|(?<=, )not (?:by|to|for|in|on|at|with|from)|"
    r"at (?:the )?(?:most|least|latest)|up to|(?:no|not) (?:more|less|fewer|later|earlier|longer|greater|larger) than|"
    r"(?:more|less|fewer|greater|larger|smaller|longer|older|younger) than|within|limit(?:ed(?! liability)|s)?|"
    r"capped|maximum|minimum|exceed\w*|restrict\w*|reserved for|confined to|before(?!hand)|prior to|(?:as|so) long as|"
    r"twice|(?:\d+|two|three|four|five|ten) times|(?:over|above|below|under|beyond) [$€£]?\d[\d,.]*(?= )|"
    r"provided (?:that|the)|on condition|at (?:the|its|their|his|her|our|your|\w+'s) (?:\w+ )?discretion|"
    r"in so far as|the same|different|once per|by definition|exhaustive|(?:list|enumeration) is (?:closed|complete|"
    r"final)|\d+ plus|tops(?=\W*\Z)|max|exclud(?:es?|ing)|to the exclusion|(?<=[a-z] )besides(?= [a-z])|"
    r"(?:everyone|everybody|anyone|anybody|everything|anything|nothing|none|nobody) save|excepting|omit(?:s|ting)?|"
    r"disregarding|discounting|minus|barring|bar (?:the|those|any)|"
    r"(?<!may )(?<!can )(?<!to )(?<!and )(?<!or )(?<!must )(?<!not )(?<!will )(?<!please )(?<!could )(?<!you )(?<!we )"
    r"(?<=[a-z,] )save (?:the|those|that|these|for|in|where|when|if|an?|on|\w+ ones)|"
    r"aside from|apart from|short of (?!\w+ing\b)|leaving out|insofar|inasmuch as|as far as (?!possible|practicable)|"
    r"(?:any\w*|every\w*|all|each|whatever|whichever|whoever)(?: (?!may\b|can\b|is\b|are\b|has\b|have\b|do\b|"
    r"does\b|will\b|and\b|in\b)[\w'-]+){0,3},? but|but (?:those|these|the ones|such|that of|the one)|"
    r"ones (?:aside|apart|out)|full stop|(?<=[,;] )period(?=\W*\Z)|that(?:'s| is) (?:it|all)(?=\W*\Z)|nothing more|"
    r"left out|not (?:counting|including)|sole|merely|purely|(?<!not )(?<!mutually )exclusive|nothing (?:other|"
    r"except|besides|beyond|short)|(?<!was )(?<!were )too (?:many|much|long|late|few|little|old|young|big|large|"
    r"small|high|low|heavy|early|short|fast|wide|tall)|"
    r"no longer|just|iff|seldom|rarely|hardly|scarcely|barely|assuming|given that|permitting|upon|none but|no one but|"
    r"per (?:user|customer|person|day|month|year)|no(?= [a-z])(?! longer\b| matter\b| doubt\b))\b|"
    rf"\b(?:\d[\d,.]*|(?!one\b){_NUMBER})(?: (?!and\b|or\b)[\w%€$£.]+){{0,2}} (?:or|and) (?:fewer|less|more|"
    r"older|younger|over|under|above|below|up|upwards?|greater|higher|lower|longer|shorter|later|earlier|larger|"
    r"smaller|bigger|better|beyond|onwards?|taller|heavier|lighter|newer)\b|"
    r"\baged (?:\d+|\w+teen|twenty)|\b(?:over|under)-?\d+s\b|\d ?\+(?! ?\d)|"
    r"\b(?:top|highest|lowest|longest|shortest|largest|smallest|biggest|tallest|earliest|latest|oldest|youngest|"
    r"heaviest|fastest|slowest|fewest|ceilings?|caps?|quotas?|thresholds?|deadlines?|cut-?offs?|(?:upper|"
    r"lower) bounds?)\b"
    rf"(?=[^.;]{{0,80}}(?:\d|\b{_NUMBER}\b))|\d[\w %]{{0,30}} (?:is|are) the \w+est\b",
    re.I,
)
_AMOUNT = re.compile(
    r"[$€£]\s?\d|\b\d[\d,.]*\s?(?:%|percent\b|dollars?\b|euros?\b|usd\b|eur\b)|\b\d+ free\b|"
    r"\b(?:\d+|one|two|three|a single) \w+(?: \w+)? (?:per|for each|each)\b|"
    rf"\b(?:\d+|{_NUMBER})[- ](?:second|minute|hour|day|night|week|month|year)s?\b|"
    r"\b(?:between|from) \S{0,3}\d\S*(?: [\w.]+)? and \S{0,3}\d|"
    r"(?<![\d.])\d[\d,.]* ?(?:[mck]m|m|[mk]?g|[mc]?l|lbs?|oz|ft|feet|inch(?:es)?|yards?|miles?|"
    r"(?:kilo|centi|milli)?(?:met(?:er|re)|lit(?:er|re)|gram)s?|tons?|tonnes?|[km]?w|kwh|[km]?hz|[kmgt]b|"
    r"bytes?)\b|\d ?°",
    re.I,
)
_HOURS = re.compile(  # in a permission a limit; in a statement mostly none
    r"\b(?:[01]?\d|2[0-4])[:.][0-5]\d\b|\b(?:1[0-2]|0?\d) ?(?:[ap]\.m\.|[ap]m\b|o'clock)|\b(?:noon|midnight)\b|"
    r"\d degrees?\b",
    re.I,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|when|whenever|where|unless|provided(?: that)?|on condition(?: that)?|(?:as|so) long as|"
    r"(?:conditions?|criteria|criterion|requirements?|prerequisites?|preconditions?|demands?|qualifications?)"
    r"(?: [\w']+){0,6}|(?:is|are|be|been|being) (?:\w+ )?(?:met|satisfied|fulfilled|true|present|the case))\W*\Z|"
    r"\b(?:if|when|whenever|where|unless|provided|only)\b(?=.*\b(?:following|these|those)\b)",
    re.I,
)
_PERMIT = re.compile(
    r"\b(?:may|can|could|might)\b|\ballows? (?:you|users?|customers?)\b|"
    r"\b(?:is|are) (?:\w+ly )?(?:allowed|permitted|free|welcome|entitled|eligible|able)\b",
    re.I,
)
_MANY = re.compile(rf"\b(?:\d+|{_NUMBER}|a single) (?!of\b|may\b|can\b|or\b|and\b)[a-z]+", re.I)
_CONDITION = re.compile(r"\b(?:if|when|where|once|after|as soon as|in (?:that|this|which) case)\b|\Afor an?\b", re.I)
_GOES_ON = re.compile(  # what behind a "may" is more than an act and its thing: who is so, what has to be so, with what
    r"\b(?:is|are|was|were|does|did|isn't|aren't|that|provid(?:ed|ing)|given|granted|with|upon|"
    r"under|against|pending (?=an?\b|the\b)|per|(?:assum|suppos|follow)ing|subject|(?:i|you|we|they|it) (?:have|do))\b",
    re.I,
)
_NEGATED = re.compile(r"\b(?:not|[a-z]+n't|no longer|neither|nor|none|nothing|lack(?:s|ing)?)\b", re.I)
_TITLE = re.compile(
    r"\b(?:before|after|prior to|until|exclusions?|exceptions?)\b|"
    r"\b(?:max(?:imum)?|min(?:imum)?|(?:at )?(?:most|least)|over|under|up to|limit|than|per)\b.*\d|"
    r"\d+ (?:and|or) (?:over|under|older|younger|more|less|fewer)\b|\d+ \w+ per\b|[$€£] ?\d",
    re.I,
)
_NUMBERING = re.compile(r"\A\W*(?:\d[\d.]*[.)]?|[a-z][.)]|§ ?\d+\S*|(?:section|article|chapter) \d\S*)(?=\s)", re.I)
_ADDED = re.compile(
    r"\btoo[.!]?\Z|\A\W*(?:this|that|these|those|it|they|the same)(?: rule| ban| limit)? (?:also |too )?"
    r"(?:appl(?:y|ies)|holds?|goes)\b|"
    r"\A\W*(?:this|that|these|those|it|they|the same)(?: rules?| bans?| limits?)? (?:also |too )?"
    r"(?:extends?|covers?|concerns?|includes?|encompass(?:es)?|(?:is|are) (?:true|so))\b|"
    r"\A\W*so (?:is|are|does|do|has|have) [a-z]|\bfalls? under (?:this|that|these|it)\b|"
    r"\A\W*(?:for|under|within) (?:this|that|these|the above) (?:rules?|bans?|limits?|purposes?)\b",
    re.I,
)
_APPLIES = re.compile(
    r"\b(?:not|n't|never|no longer|only)\b[^.;]*\b(?:appl(?:y|ies|ied|icable)|hold|bind(?:ing)?|in force)\b|"
    r"\b(?:appl(?:y|ies)|applicable|holds?|binding|in force) (?:only|solely|just)\b|"
    r"\b(?:section|paragraph|article|clause|rule|point|item|chapter|sentence)s? (?:no\. ?)?\d[\d.]*(?:\(\w+\))?[^.;]*"
    r"\b(?:appl(?:y|ies)|holds?|governs?|waived|suspended|lifted|prevails?|overrides?|precedence)\b",
    re.I,
)
_NARROWS = re.compile(
    r"\b(?:with|to|for|by|from|of|in|on|at|during|over|under|above|below|given|as|bar|barring|upon|per|like)\b"
    r"(?! (?:any|all|every|each|either|anyone|anybody|everyone|everybody)\b)|,",
    re.I,
)
_ADVERSE = re.compile(  # said of what a tool is about: that it is bad, over, against something, or hangs on something
    r"\b(?:is|are|be|remains?|gets?|goes|go|falls?|runs?|stands?|has|have) (?:(?:an?|the|very|now|all|quite|also|"
    r"[a-z]+ly) ){0,2}"
    rf"(?:{_UN}|{_BAD}|inexcusable|intolerable|invalid|insufficient|inadequate|anathema|bad|mistakes?|errors?|abus\w+|"
    r"fir(?:ed|ing)|grounds|consequences|beyond|outside|counter to|contrary|at odds|incompatible|inconsistent|"
    r"in conflict|disapproved|discouraged|deplored|condemned|hated|deprecated|non-?existent|absent|missing|lacking|"
    r"things? of the past|history|"
    r"closed|shut|cut off|(?:kept|held) (?:away|out|off|back|to)|"
    r"(?:over|out)(?=[.!]?\Z)|finished|dead|abandoned|scrapped|dropped|halted|paused|"
    r"terminated|retired|dangerous|hazardous|risky|dependent|tied|linked|coupled|bound|contingent|conditional|"
    r"called for|necessity|necessities)\b|"
    r"\b(?:costs? you|ends? (?:your|the contract)|breaks? the|violates?|contradicts?|conflicts? with|clash(?:es)? with|"
    r"(?:takes|holds|fits|has room for) \d+|(?:matters?|decisions?) (?:for|of)|"
    r"opposes?|objects? to|shuns?|eschews?|boycotts?|spurns?|disapproves?|discourages?|depends? (?:up)?on|"
    r"hinges? (?:up)?on|rests? (?:up)?on|calls? for|necessitates?|presupposes?|expires?|laps(?:es?|ed)|ends?|closes?|"
    r"stops?|terminates?)\b",
    re.I,
)
_UNLIKE = re.compile(  # a thing named by what it is not: "untorn costumes", "non-residents"
    rf"\bnon-?[a-z]{{3,}}|\b{_UN}|\b(?:in|im|ir|il)[a-z]+(?:able|ible)\b|\b(?:whatever|whichever|who(?:m)?ever)\b|"
    r"\b(?!regard|never|none|wire)[a-z]{4,}less(?:ly)?\b",
    re.I,
)
_FOR = re.compile(
    r"\b(?:is|are) (?:(?:meant|intended|made|there|designed|here|strictly|suitable|kept|all) )?for [a-z\d]", re.I
)
_ABLE = re.compile(r"\b([a-z]{3,}?)(?:able|ible)\b", re.I)
_MAY = re.compile(
    r"\W*(?:(?!is\b|are\b|was\b|that\b|if\b)[\w'-]+ ){1,5}?"
    r"(?:may|can|could|might|(?:is|are) (?:allowed|permitted|free|able) to)"
    r" (?:also |always |still |freely |gladly )?(?:be )?([a-z]+)",
    re.I,
)
_ANSWER = re.compile(r"\A\W*(?:a(?:nswer)?:\s*)?(?:no|never|(?:\w+ ){0,3}\w*(?:n't|not))\W*\Z", re.I)
_ALSO = re.compile(r"\b(?:may|can|could|might) (?:also|still|always)\b|\balso (?:may|can|be)\b", re.I)
_FORBIDDING = re.compile(  # with what is of force by itself: `forbids`
    rf"\b(?:{_UN}|{_BAD}|in\w+ible|not|don't|no|misuse|(?:do|ca|wo|sha|must|should|need)n?'?n?ts|no-?go(?:e?s)?|taboos?|"
    r"bans|do nots|mus(?:t)?n'?ts|must-nots?|nevers|nope|exclusions?|excludes?|exceptions?|refus(?:e|als?)|decline|"
    r"reject(?:s|ions?)?|den(?:y|ials?)|outside (?:of )?(?:the |our )?(?:scope|remit)|avoid(?:ances?)?|"
    r"restrict(?:ed|s|ions?)|limitations?|contraband|misdeeds|wrongs|wrongdoing|bad (?:practices?|habits)|"
    r"anti-?patterns?|abuses?|debarred|leave (?:out|alone)|left out|steer clear|beware|nothing|none|only|limits|"
    r"constraints?|bounds|boundaries|infringements?|gave up|given up|disqualif\w+|thumbs down|negative list|"
    r"black marks?|skip|omit|anything but|everything (?:but|except)|minus|musts|must-haves?|abstain|abstentions?|"
    r"cease|desist|(?<![a-z] )out(?=\W*\Z))\b",
    re.I,
)
_REQUIRES = re.compile(
    r"\b(?:requir\w+|needs? an?|(?:is|are) (?:needed|necessary)|takes an?|prior|previous|beforehand|"
    r"first|already|prerequisites?|preconditions?|conditional|contingent|subject to|depends? on)\b",
    re.I,
)
_UNWELCOME = re.compile(r"\bnot (?:welcome|acceptable|ok(?:ay)?|possible|available|on offer|an option)\b", re.I)
_THEN = re.compile(r"\b(?:then|afterwards|thereafter|next)\b", re.I)
_REFUSES = re.compile(
    r"\b(?:reject|refus(?:e|al|ing)|den(?:y|ie|ial)|declin(?:e|ing)|disallow|disapprov|veto|withh[oe]ld|"
    r"turn(?:s|ed|ing)? (?:\w+ ){0,3}?(?:away|down))",
    re.I,
)
_SUPPOSED = re.compile(r"\b(?:if|when|whenever|where|while|after|once|unless|because|since)\b[^,;:.]*", re.I)
_ADVICE = re.compile(
    r"\A\W*consider \w+ing\b|\b(?:we|i) (?:\w+ly )?(?:recommend|suggest)\b|\bgood idea\b|\b(?:is|are) recommended\b",
    re.I,
)
_HEDGE = re.compile(
    r"\b(?:usually|typically|commonly|often|sometimes|mostly|probably|significantly|(?<!at )(?<!the )most)\b", re.I
)
_MEANS = re.compile(
    r"\A\W*(?:an? |the )?[\"“][^\"”]+[\"”] (?:is|are|includes?|covers?|means?)\b|"
    r"(?<!by )(?<!the )(?<!any )(?<!other )(?<!original )\bmeans\b(?! of)|\bcounts? as\b|"
    r"\b(?:is|are) defined as\b|\brefers to\b|\bdenotes?\b",
    re.I,
)
_WITHOUT = re.compile(rf"\b(?:{_USER}|somebody|someone|those|one|thing) without\b", re.I)  # says which is meant
_HOLDS = re.compile(
    r"\A(?:[\w'-]+ ){1,6}?(?:also )?(?:includes?|consists? of|comprises?|is composed of)\b|"
    r"\A(?:an? |the )?[\w'-]+(?:[, ]+[\w'-]+){0,6}? (?:is|are) not (?:an? )?[\w'-]+\.?\Z",
    re.I,
)
_EXAMPLE = re.compile(r"\A\W*(?:for (?:example|instance)|e\.g\.)", re.I)
_QUESTION = re.compile(r"\?[\"'”’)]*\Z")
_ASKS = re.compile(
    rf"(?:\A|[.:,] )\W*(?:q(?:uestion)?\W+)?(?:and |so |but )?(?:{_AUXILIARY}|do|am|shall|need|how (?!do(?:es)?\b|is\b|"
    r"are\b)[a-z]+|who (?:is|are|gets?)|whose|which|what (?:about|happens|if))\b|"
    r"\b(?:can|may|must|should|(?:have|need) to|needed|required|"
    r"allowed|permitted)\b",
    re.I,
)
_FINITE = rf"\b(?:{_AUXILIARY}|isn't|aren't|wasn't|doesn't|it's|there's|that's)\b"
_INDICATIVE = re.compile(
    rf"{_FINITE}|\A\W*(?i:the|an?|this|these|those|that|it|they|our|your|its|their|each|every|most|some|many|"
    r"there|all|both|such|another|individuals)\b|\A[A-Z]{2,}\b|\A[A-Z][a-z]*[^s\W]s\b",
)
_NEUTRAL = re.compile(  # a head whose items are no more than what there is
    r"\A(?:\Z|about\b)|\b(?:dos|allow(?:s|ed)|permit(?:s|ted)|accept(?:s|ed)|covered|includ(?:es?|ed|ing)|offer(?:s|ed)?|"
    r"(?:you|we|\w+s) (?:can|may|like)|has|have|services?|features?|overview|examples?|contents?|glossary|history|"
    r"introduction|background|contact|words|kinds?|types?|options)\b",
    re.I,
)
_ACT = re.compile(r"\W*(?:(?:the|an?|any|every|each|all|our|your) )?([a-z]+)\b(?! (?:is|are|was|were|has|had)\b)", re.I)
_WILL = re.compile(  # what is done, though nobody says by whom; "will be shown by the app" says it
    rf"\A\W*(?:(?:the|any|all|every|each) )?(?:{_USER}|[a-z]{{2,}}(?:ers|ors|ees|ants)) will (?!be \w+(?:ed|"
    rf"en)\b)"
    r"[a-z]+|\A\W*(?:all|every|each) [\w'-]+(?: [\w'-]+){0,3} will (?!be \w+(?:ed|en)\b)[a-z]+|"
    r"\b(?:they|he|she) will (?!be \w+(?:ed|en) by\b)[a-z]+|"
    r"\bwill (?:always |never |not )?(?:have|keep|hold|stay|remain|carry|wear|possess|observe|comply|respect|abide|"
    r"adhere|refrain|await|wait)\b(?! been\b)|\bwill (?:\w+ly )?be (?:\w+ly )?\w+(?:ed|wn|ven|ken|ld|nt|"
    r"pt)\b(?! by (?:an?|the|its|our) )",
    re.I,
)
_SUBJECT = re.compile(
    r"(?:the|an?|this|these|those|that|it|they|he|she|you|we|i|our|your|its|their|his|her|each|every|most|some|many|"
    r"there|all|both|such|another|any|no|one|what|which|who)\b|"
    rf"[\w'-]+(?: [\w'-]+){{0,3}}? (?!had|did)(?:{_AUXILIARY}|do)\b|[\w'-]+[^s\W]s [a-z]",
    re.I,
)
_NAMES = re.compile(r"\W*[\w-]+(?: [\w-]+)? (?:of|and) ", re.I)  # "review of a denial", "time and manner of access"
_LEAD = re.compile(
    r"\A\W*(?:(?:next|then|first|second|finally|also|so|now|please|always|otherwise|instead|afterwards|"
    r"in (?:particular|addition|general)|on [\w ]{2,20}|for [\w ]{2,30}|"
    r"(?:if|when|after|before|once) [^,]{2,80}),?\s+)+",
    re.I,
)
_ORDERS = frozenset(
    """accept access add adhere advise allow announce answer apply approve archive ask assess assign attach authenticate
 avoid back block book buy call cancel change charge check choose clear click close collect compare compensate
 complete confirm connect consider consult contact continue copy create decline delete deny destroy determine disable
 discard disclose display do document download edit email enable encrypt end enter escalate establish examine exclude
 exercise explain export file fill find finish follow forward get give go grant handle hand hide hold identify ignore
 include inform insert inspect install investigate invite issue keep label lay leave let list lock log look mail
 maintain make mark mention monitor move notify obtain offer open order pass pause pay perform place post prepare
 present prevent print proceed process prohibit protect provide publish purchase put quarantine quote raise read
 record redact refer refund refuse register reject release remind remove rename renew repeat replace reply report
 request require reschedule reserve reset resolve respond restore restrict retain retrieve return review revoke
 rotate route run save scan schedule search select sell send serve set share ship show sign skip start state stop
 store submit suspend switch take tell terminate test track transfer treat turn update upgrade upload use validate
 verify visit wait warn wear wipe withdraw write""".split()
)


def forced(text: str) -> str:
    """The words of force in a text, exemptions aside; empty for none."""
    said = _EXEMPT.sub(" ", plain(text))
    demands = [
        m.group().lower() for m in _DEMAND.finditer(said) if not _AIM.search(said[max(0, m.start() - 150) : m.start()])
    ]
    found = (_shown(_FORCE, said), _shown(_DENIED, _SUBORDINATE.sub(" ", said)), *demands)
    return ", ".join(dict.fromkeys(filter(None, found)))


def forbids(title: str) -> str:
    """The words by which a title or a short line forbids what stands under it, as "Don'ts" does; empty for none."""
    said = plain(title)
    return "" if _QUESTION.search(said) else _banning(said)


def _banning(head: str) -> str:
    return forced(head) or _shown(_FORBIDDING, head)


def asked(text: str) -> bool:
    """Whether a text asks whether something is so, how long or much, or who or what may be: its answer may ban."""
    return bool(_QUESTION.search(plain(text)) and _ASKS.search(plain(text)))


def harmless(text: str) -> str:
    """Why a sentence is a definition or advice; empty where it is neither, or also has the words of force or limit."""
    said = _EXEMPT.sub(" ", plain(text))
    if forced(text):
        return ""
    if _LIMIT.search(_WITHOUT.sub(" ", said)):
        return ""
    if _MEANS.search(said):
        return "a definition"
    if _LIMIT.search(said) or _AMOUNT.search(said):
        return ""
    said_of = (
        _HOLDS.search(plain(text))
        and not _UNWELCOME.search(said)
        and not _CONDITION.search(said)
        and not re.search(r"\b(?:that|who|which|an? option)\b", said)
    )
    return "a definition" if said_of and not _order(said) else "advice" if _ADVICE.search(said) else ""


def conditional(opening: str) -> str:
    """What in a list's opening makes conditions of its items, as in "if all of these hold:"; empty for nothing."""
    found = _CONDITIONAL.search(plain(opening))
    return found.group().strip(" :,;–—-").lower() if found else ""


def verdict(
    text: str, bearing: Bearing, *, opening: str = "", title: str = "", label: str = "", fragment: bool = False
) -> tuple[str, bool]:
    """What can be said of a sentence that no rule was read from: the reason, and whether it is no constraint.

    `opening` is that of the list it stands in, `title` the innermost heading and `label` what its paragraph begins with
    before a colon; a `fragment` may be without a verb; `bearing` tells the words of the tools.  Without a positive
    reason it stays open.
    """
    said = plain(text)
    bare = _EXEMPT.sub(" ", said)
    force = forced(text) or forced(opening)
    limit = _shown(_LIMIT, bare) or _shown(_LIMIT, plain(opening)) or _shown(_AMOUNT, bare)
    if condition := conditional(opening):
        return f"an item of a list whose opening sets a condition ({condition})", False
    if _QUESTION.search(said) and not re.search(r"\b(?:must|shall|never|refrain|avoid|do not|don't)\b", said, re.I):
        return "a question", True
    if _ANSWER.search(said):
        return "the answer to a question that was not read", False
    if _EXAMPLE.search(said) and not re.search(r"\b(?:must|shall|never|cannot|do not|don't)\b", bare, re.I):
        return "an example", True
    if force:
        return f"the words of a constraint that was not read ({force})", False
    if len(opening.split()) <= 6 and (head := _shown(_FORBIDDING, plain(opening))):
        return f"an item of a list whose opening may forbid it ({head})", False
    if doing := _evaluated(said, bearing):
        return f"says what {doing!r} is", False
    if (
        not fragment
        and len(said.split()) <= 6
        and not re.search(r"[.;?]\Z", said)
        and (head := _shown(_FORBIDDING, said))
    ):
        return f"a line that may forbid what stands below it ({head})", False
    inline = re.match(r"\W*([^:.?]{2,60}):\s", said)
    for head in (inline[1] if inline else "", label):
        if _banning(head) and len(head.split()) <= 6:
            return f"a thing named behind {head!r}", False
    if _banning(title) and len(title.split()) <= 6 and not said.endswith("?"):
        return f"a thing named under the title {title!r}", False
    if field := bearing.told_of(said):
        return f"it says of what {field!r} is so", False
    if _ADDED.search(said):
        return "it adds to another sentence", False
    if reason := harmless(text):
        negated = _MEANS.search(said) and _NEGATED.search(bare)
        if negated and bearing.sharing(said):
            return f"a negation that was not read ({negated.group().lower()})", False
        return reason, True
    if verb := _order(said):
        return f"an order that was not read ({verb})", False
    if _EXEMPT.search(said) and not limit:
        return "an exemption, or a right kept", True
    if (negated := _NEGATED.search(bare)) and (bearing.sharing(said) or not said[:1].isalnum()):
        return f"a negation that was not read ({negated.group().lower()})", False
    if _PERMIT.search(said):
        party = bool(_PARTY.search(said) or bearing.touching(said))
        told, plainly = _permission(said, limit, party)
        if plainly and (tools := bearing.named(said)):
            if narrows := _NARROWS.search(said):
                return f"a permission that may say under what condition ({narrows.group().lower().strip()})", False
            if not bearing.permitted(said):
                return f"says something of what {', '.join(tools)} does", False
        if plainly and not _ALSO.search(said) and (fact := bearing.tested(said)):
            return f"a permission that speaks of {fact!r}, which may have to be so", False
        if plainly and not _ALSO.search(said) and (unlike := _UNLIKE.search(said)) and bearing.sharing(said):
            return f"a permission that may leave others out ({unlike.group().lower()})", False
        return told, plainly
    if limit and not _HEDGE.search(said):
        return f"a limit or an exception that was not read ({limit})", False
    if _banning(title):
        return f"a thing named under the title {title!r}", False
    if _EVERYBODY.match(said) and not _HEDGE.search(said):
        return "says what users do", False
    if _does(said) and (condition := _CONDITION.search(said)):
        return f"says when an agent does something ({condition.group().lower()})", False
    if done := _does(said) and bearing.sharing(_does(said)):
        return f"says what an agent does, as {', '.join(done)} does", False
    if applies := _APPLIES.search(said):
        return f"it says where another passage holds ({applies.group().lower()})", False
    if done := bearing.named(said):
        return f"says something of what {', '.join(done)} does", False
    if told := _WILL.search(bare):
        return f"says what will be done ({told.group().lower()})", False
    if _instructs(said):
        return "an order that was not read, behind a condition or an aim", False
    if (down := refuses(said)) and bearing.touching(said):
        return f"it turns something down ({down})", False
    if (adverse := _shown(_ADVERSE, _SUBORDINATE.sub(" ", said))) and bearing.touching(said):
        return f"it may forbid or set a condition for what a tool does ({adverse})", False
    if (whom := _FOR.search(said)) and bearing.sharing(said):
        return f"says for whom or for what it is ({whom.group()[:-1].lower().strip()})", False
    if able := [m.group().lower() for m in _ABLE.finditer(said) if bearing.named(m[1], whole=False)]:
        return f"says of what something may be done ({able[0]})", False
    if not _HEDGE.search(said) and (fact := bearing.tested(said)):
        return f"it speaks of {fact!r}, which may have to be so", False
    if (act := _ACT.match(said)) and (done := bearing.named(act[1], whole=False)):
        return f"says something of what {', '.join(done)} does", False
    within = next(filter(None, (opening, label, title)), "")
    brief = not re.search(_FINITE, said) or (within != title and len(within.split()) <= 4)
    if fragment and brief and said[-1:] != ":" and not _NEUTRAL.search(within) and (thing := bearing.handled(said)):
        return f"named under a head that may forbid it, as {thing!r} is handled by a tool", False
    if _INDICATIVE.search(said):
        return "a statement of what usually is so" if limit else "a statement without force, exception or limit", True
    whole = re.search(r"[.!;]\Z", said) is not None
    if (not fragment and (whole or len(said.split()) > 3)) or (
        whole and len(said.split()) > 4 and not _NAMES.match(said)
    ):
        return "nothing was read from it, and nothing in its words says that it is no constraint", False
    if limit or re.search(r"\d", said):
        return "a limit without a verb", False
    return "names a thing, says nothing of it", True


def _instructs(said: str) -> bool:
    """Whether what follows a clause of aim or condition at the start of a sentence may be an order.

    Nothing tells where "to verify the answers use the list" goes on; behind a condition and its comma it is an order
    unless it opens with a subject.
    """
    if re.match(r"\W*(?:in order )?to [a-z]", said, re.I):
        return True
    if not re.match(r"\W*(?:if|when|whenever|unless|once|after|before|where) [a-z]", said, re.I):
        return False
    rest = re.match(r"[^,:]*[,:]\W*(?:then )?(.+)", said)
    return not (rest and _SUBJECT.match(rest[1]))


def _evaluated(said: str, bearing: Bearing) -> str:
    """The act of a tool that a sentence begins with and says something of; not where it says which act that is."""
    rest = said[m.end() :] if (m := _LEAD.match(said)) else said
    found = re.match(
        r"([a-z]+ing)\b(.*?)\b(?:is|are|was|were|counts?|means?|leads?|will|would|may|can)\b(.*)", rest, re.I
    )
    if not found or not bearing.sharing(found[1]):
        return ""
    return "" if re.search(r"\w+ing\b", found[3]) else found[1].lower()


def limit(text: str) -> str:
    """The words of limit, exception or amount in a text, exemptions aside; empty for none."""
    bare = _NUMBERING.sub(" ", _EXEMPT.sub(" ", plain(text)))
    found = re.findall(r"\d[\d,.]*|\bor (?:less|fewer|more)\b", bare)
    return _shown(_LIMIT, bare) or _shown(_AMOUNT, bare) or ", ".join(found)


def against(title: str) -> str:
    """The words, none of force, by which a title is against what stands under it, as "Red lines" is; empty for none."""
    said = plain(title)
    return "" if _QUESTION.search(said) else _shown(_FORBIDDING, said)


def requires(text: str) -> str:
    """The words of a text by which one thing is needed for another, or comes first; empty for none."""
    return _shown(_REQUIRES, text)


def sequenced(text: str) -> str:
    """The word by which one thing is done behind another, where none says when ("if …, then …"); empty for none."""
    return "" if supposed(text) else _shown(_THEN, text)


def supposed(text: str) -> str:
    """The words of a text that say when or why something is so; empty for none."""
    return _shown(_SUPPOSED, text)


def refuses(text: str) -> str:
    """The words of a text that turn something down, which another act would let happen; empty for none.  What only says
    when or why something is so ("if the card was declined") turns nothing down."""
    return _shown(_REFUSES, _SUPPOSED.sub(" ", text.replace("_", " ")))


def titled(text: str) -> str:
    """The words by which a title restricts what stands under it, or is a limit itself; empty for none."""
    return _shown(_TITLE, _NUMBERING.sub(" ", plain(text)))


def permissive(text: str) -> bool:
    """Whether a text has the words of a permission and none of force, limit or exception but "without"."""
    said = plain(text)
    return (
        bool(_PERMIT.search(said)) and not forced(said) and not re.search(r"\b(?:only|unless|until|not)\b", said, re.I)
    )


def _does(said: str) -> str:
    """What an agent is said to do, in the present tense; empty where nothing is."""
    found = re.match(
        rf"(?:(?:the|an?|our|each|every|all)\s+)?{_AGENT}\s+(?:\w+ly\s+)?(?!is\b|are\b|has\b|have\b)([\w']+)",
        said,
        re.I,
    )
    return found[1] if found else ""


def _permission(said: str, limit: str, party: bool) -> tuple[str, bool]:
    """What a sentence with the words of a permission is: open where it may mean "only then"."""
    limit = limit or _shown(_HOURS, said)
    if limit and not (_HEDGE.search(said) and not party):
        return f"a permission with a limit or an exception ({limit})", False
    if party and (many := _MANY.search(said)):
        return f"a permission that says of how many ({many.group().lower()})", False
    if not party or _HEDGE.search(said):
        return "a permission", True
    may = _PERMIT.search(said)
    condition = _CONDITION.search(said) or (may and _GOES_ON.search(said, may.end()))
    if condition:
        return f"a permission under a condition, which may mean 'only then' ({condition.group().lower()})", False
    return "a permission", True


def _order(said: str) -> str:
    """The verb of a sentence in the imperative; empty for none."""
    rest = said[m.end() :] if (m := _LEAD.match(said)) else said
    found = re.match(r"([A-Za-z]+)(?:[.!]?\Z|\s+(?!is\b|are\b|was\b|were\b|will\b|has\b|have\b|of\b)\w)", rest)
    return found[1].lower() if found and found[1].lower() in _ORDERS else ""


def _shown(pattern: re.Pattern[str], text: str) -> str:
    return ", ".join(dict.fromkeys(m.group().strip(" .:;,(").lower() for m in pattern.finditer(text)))


def plain(text: str) -> str:
    """The words of a text without Markdown marks, line breaks and curly quotation marks."""
    text = re.sub(r"(?<=\w)[’‘´`ʼ＇](?=\w)", "'", text)
    text = re.sub(r"[*`_]{1,3}(?=\S)|(?<=\S)[*`_]{1,3}", "", text.replace("’", "'").replace("‘", "'"))
    text = re.sub(r"\bcan-not\b", "cannot", unicodedata.normalize("NFKC", text).replace("\u2010", "-"), flags=re.I)
    return " ".join(text.split())


def _telling(words: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The words of each tool without those that more than half of the tools have."""
    counts = Counter(word for found in words.values() for word in found)
    return {name: {w for w in found if 2 * counts[w] <= len(words)} for name, found in words.items()}


def _told(tool: Tool) -> str:
    """All that is told of a tool's arguments: descriptions, values, and the names inside of them."""
    waiting = [field.schema for field in tool.arguments]
    texts = [" ".join((field.description, *field.keywords, *field.values)) for field in tool.arguments]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            named = part.get("properties", {})
            texts += [*(named if isinstance(named, Mapping) else ()), str(part.get("description", ""))]
            waiting += part.values()
        elif isinstance(part, tuple):
            texts += [value for value in part if isinstance(value, str)]
            waiting += [value for value in part if isinstance(value, Mapping | tuple)]
    return " ".join(texts)


_COUNTS_AS = re.compile(
    r"\b(?:counts? as|means?|"
    r"(?:is|are|be) (?:considered|deemed|treated as|regarded as|classed as|taken for|held to be)|"
    r"(?:is|are)(?: always| all| also)?)\s+(?:an? |the |to be )?(?P<what>[a-z][\w' -]{2,60}?)"
    r"(?: (?:if|when|where|unless|once|as soon as|provided)\b.*)?[.;]?\Z",
    re.I,
)
_MEANT = re.compile(r"\A\W*(?:an? |the )?(?P<what>[\w' -]{3,60}?)[\"”]? (?:means|refers to|is when|are when)\b", re.I)


def _truths(fields: Iterable[Field], depth: int = 4) -> Iterator[tuple[str, bool]]:
    """What fields of yes or no are called, and values that fields may have, with whether it is the former."""
    for field in fields:
        yes = field.type == "boolean"
        yield from ((name, yes) for name in ([field.name.rpartition(".")[2]] if yes else field.values))
        yield from _truths(within(field), depth - 1) if depth else ()


def _telling_name(name: str) -> bool:
    """Whether a field's name has no words, but for "is" and the like, that many things have, as "order_of_user" has."""
    said = {*re.findall(r"[a-z]+", name.lower())} - {"is", "are", "was", "has", "have"}
    return bool(stems(name)) and FUNCTION.isdisjoint(said)


class Bearing:
    """The words of each tool: of its name, of its arguments' names, and its keywords as whole phrases.

    What is told of its arguments (descriptions, values, the names inside of them) counts for `touching` alone.
    Function words, words for the agent and the user, and words that more
    than half of the tools have, name no tool.
    """

    def __init__(self, toolbox: Toolbox) -> None:
        self.toolbox = toolbox
        single: dict[str, set[str]] = {}
        self._phrases: dict[str, tuple[str, ...]] = {}
        for tool in toolbox.tools:
            phrases = {stems(k) for k in tool.keywords}
            own = stems(" ".join((tool.name, *(a.name for a in tool.arguments))))
            single[tool.name] = {*own, *(stem(k.lower()) for k in tool.keywords if k.isalpha())}
            self._phrases[tool.name] = tuple(f" {' '.join(p)} " for p in phrases if len(p) > 1)
        wide = {tool.name: single[tool.name] | set(stems(_told(tool))) for tool in toolbox.tools}
        self._known = frozenset().union(*wide.values())
        self._words, self._wide = _telling(single), _telling(wide)
        every = _truths((*toolbox.state, *(a for t in toolbox.tools for a in t.arguments)))
        self._truths = {name: words for name, _ in every if (words := frozenset(stems(name)))}
        self._facts = {name: stems(name) for name, yes in _truths(toolbox.state) if yes and _telling_name(name)}

    def told_of(self, text: str) -> str:
        """The name of a yes or no, or the value, of a field that a text says something to be, which may say when a rule
        over it holds: "a box without a lid counts as open", "rentals of a week are long"; empty for none."""
        for found in filter(None, (_MEANT.search(text), _COUNTS_AS.search(text))):
            what, before = frozenset(stems(found["what"])), stems(text[: found.start()])
            for name, words in self._truths.items() if what else ():
                if what & words and what <= words and words <= what.union(before):
                    return name
        return ""

    def tested(self, text: str) -> str:
        """The field of the state, a yes or no, that a text may speak of, or of its opposite ("the untrained"): it has
        the last word of the field's name, which may stand alone as its opposite, and each other word or one of a tool
        that has it; empty for none."""
        said = set(stems(text))
        opposite = {short for word in said if (short := re.sub(r"\A(?:un|in|im|non|dis)", "", word)) != word}
        said |= opposite
        if sum(words <= said for words in self._truths.values()) > 2:
            return ""  # it tells what fields there are
        shared = said.union(*(self._words[name] for name in self.sharing(text)))
        return next(
            (n for n, words in self._facts.items() if words[-1] in (said if set(words) <= shared else opposite)), ""
        )

    def sharing(self, text: str) -> tuple[str, ...]:
        """The tools that share a content word with the text, in the order of the toolbox."""
        return self._sharing(text, self._words)

    def touching(self, text: str) -> tuple[str, ...]:
        """The tools that share a content word with the text, or a word of what is told of their arguments."""
        return self._sharing(text, self._wide)

    def handled(self, text: str) -> str:
        """A word of the text that tools or what is told of their arguments have too, however many; empty for none."""
        return next((word for word in stems(text) if word in self._known), "")

    def _sharing(self, text: str, words: Mapping[str, set[str]]) -> tuple[str, ...]:
        said = stems(text)
        found = set(said)
        joined = f" {' '.join(said)} "
        return tuple(
            tool.name
            for tool in self.toolbox.tools
            if words[tool.name] & found or any(phrase in joined for phrase in self._phrases[tool.name])
        )

    def named(self, text: str, *, whole: bool = True) -> tuple[str, ...]:
        """The tools whose act a text names: the verb of the tool's name and, for the `whole` act, a thing of it too."""
        said = stems(text)
        joined = f" {' '.join(said)} "
        found = []
        for tool in self.toolbox.tools:
            verb, *things = [stem(word) for word in re.split(r"[_\W]+", tool.name.lower()) if word] or [""]
            named = verb in said and (not whole or not things or set(things) & set(said))
            if named or any(phrase in joined for phrase in self._phrases[tool.name]):
                found.append(tool.name)
        return tuple(found)

    def beside(self, tools: Iterable[str]) -> tuple[str, ...]:
        """The other tools whose names have all that these act on, behind their verbs: "accept_order" for
        "reject_order"; none where one of these is a verb alone."""
        tools = tuple(tools)
        things = [set(stems(name)[1:]) for name in tools]
        others = [(tool.name, set(stems(tool.name)[1:])) for tool in self.toolbox.tools if tool.name not in tools]
        return tuple(name for name, own in others if all(things) and any(one <= own for one in things))

    def permitted(self, text: str) -> bool:
        """Whether a text says no more than that an act of a tool may be done: its verb follows the "may" at once."""
        verbs = {stem(re.split(r"[_\W]+", tool.name.lower())[0]) for tool in self.toolbox.tools}
        verbs |= {phrase.split()[0] for phrases in self._phrases.values() for phrase in phrases}
        found = _MAY.match(text)
        return bool(found) and stem(found[1].lower()) in verbs

    def mutating(self) -> tuple[str, ...]:
        """The tools that change something; one that does not say so counts as one that does."""
        return tuple(t.name for t in self.toolbox.tools if getattr(t, "mutating", None) is not False)

    def ordered(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names in the order of the toolbox."""
        wanted = set(names)
        return tuple(t.name for t in self.toolbox.tools if t.name in wanted)
