/** Synonyms of the words of a request, words that say nothing about a tool, and phrases with the words that replace them. It ranks nothing. */
import { NOUNS_SAID_FOR } from './everyday-nouns.ts'
import { VERBS_SAID_FOR } from './everyday-verbs.ts'
import { rootOf } from './roots.ts'
import { wordsOf } from './words.ts'

/** Each line: words that stand for each other. */
const GROUPS = `
    access permission role right
    add attach append include
    alert notification
    allow permit enable grant activate
    amount quantity number stock price cost
    application app
    archive export download
    attempt delivery try
    bill billing charge cost expense invoice
    block ban
    branch ref
    bug issue ticket
    buyer client customer shopper
    buy order purchase
    cancel abort withdraw revoke
    cart basket
    category group section
    chargeback dispute
    change edit modify update amend correct
    check verify validate verification
    ci workflow action pipeline
    close finish end
    collaborator contributor
    comment reply note remark
    company org organization organisation
    configuration config setting preference
    create make new open define
    credential token secret key
    delete remove erase purge destroy drop exclude kick expel
    disable deactivate
    discount coupon
    document file content
    email mail
    execute run trigger dispatch start
    fetch download get read view
    field property attribute
    find search query lookup match
    follow follower
    history revision commit log event activity
    hook webhook
    id identifier number
    import ingest load upload
    individual person director owner representative holder
    inventory stock warehouse
    invite invitation
    item entry element line
    label tag
    leak exposed secret
    library package module
    limit restriction restrict quota
    link url address
    list all index
    location place site
    lock freeze
    member membership belong user person
    merge combine
    minute usage time
    money balance fund
    move transfer shift
    name title rename
    pay payment settle
    payout withdrawal
    picture image photo
    pr pull
    product article goods
    project board
    protect protection guard
    public visible
    reaction emoji heart thumb
    reject decline deny
    release version
    repository repo
    request call
    rerun rerequest again retry redeliver resend
    restore undelete recover
    return refund
    review rating opinion feedback
    runner agent machine
    screen display
    send email forward deliver upload
    ship deliver carrier dispatch
    snippet gist
    statistic metric report figure
    status state progress
    store save put keep
    subscribe subscription watch watcher
    suspend pause
    team group
    user account
    view traffic visit
`
class Synonyms {
  readonly #ofWord = new Map<string, Set<string>>()
  /** For words of the same family. */
  readonly #ofRoot = new Map<string, Set<string>>()

  add(word: string, meant: string): void {
    if (word === meant) return
    this.#ofWord.set(word, (this.#ofWord.get(word) ?? new Set()).add(meant))
    const root = rootOf(word)
    this.#ofRoot.set(root, (this.#ofRoot.get(root) ?? new Set()).add(meant))
  }

  of(word: string): ReadonlySet<string> {
    return this.#ofWord.get(word) ?? this.#ofRoot.get(rootOf(word)) ?? NONE
  }
}

const NONE: ReadonlySet<string> = new Set()
const SYNONYMS = new Synonyms()
for (const line of GROUPS.trim().split('\n')) {
  const words = wordsOf(line)
  for (const word of words) for (const other of words) SYNONYMS.add(word, other)
}
for (const line of [...NOUNS_SAID_FOR.trim().split('\n'), ...VERBS_SAID_FOR.trim().split('\n')]) {
  const [document, people] = line.split(':') as [string, string]
  const [word] = wordsOf(document) as [string]
  for (const said of wordsOf(people)) SYNONYMS.add(said, word)
}

/** Words with which documents may say it. */
export function synonymsOf(word: string): ReadonlySet<string> {
  return SYNONYMS.of(word)
}

/** Words that say nothing about a tool. */
const FILLERS = new Set(
  wordsOf(`a an the of to in on at for from by with and or is are was were be been am do does did it its this that these those i we you
    he she they me my our your his her their us them as so now please can could would should will may might there here up out if
    whether just let also only too want need like what which whose whom where when how any some has have had into about than then
    again already still ever exactly really currently altogether very quite maybe perhaps today tomorrow yesterday moment lot bit right thing
    instead because all every each while until since before after during`),
)

export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

/** Phrases, most of them a verb and a particle, and the single words that replace them. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sign|log)(?:ged)? ?(?:me )?in\b/gi, 'login'],
  [/\b(?:sign|log)(?:ged)? ?(?:me )?out\b/gi, 'logout'],
  [/\bcall off\b/gi, 'cancel'],
  [/\b(?:bring|get) back\b/gi, 'restore'],
  [/\b(?:get rid of|no longer|stop)\b/gi, 'remove'],
  [/\blook up\b/gi, 'get'],
  [/\b(?:set|spin) up\b/gi, 'create'],
  [/\bpull(?:ed)? up\b/gi, 'get'],
  [/\bsign (\S+ )?(?:\S+ )?up\b/gi, 'subscribe $1'],
  [/\b(?:take|took) back\b/gi, 'remove'],
  [/\bgive back\b/gi, 'refund'],
  [/\b(?:get|got|bring|brought) (?:it|them) back\b/gi, 'restore'],
  [/\bthrow (?:away|out)\b/gi, 'delete'],
  [/\bshut down\b/gi, 'stop'],
  [/\b(?:boot|fire) up\b/gi, 'start'],
  [/\b(?:could not|couldn't) be\b/gi, 'fail'],
  [/\b(?:did not|didn't|does not|doesn't) work\b/gi, 'fail'],
  [
    /\b(?:should not|shouldn't|must not|mustn't|may not) (\w+)(?=.*\b(?:any ?more|any longer)\b)/gi,
    'remove $1',
  ],
  [/\b(?:any more|anymore|any longer)\b/gi, ''],
  [/\b(?:want|get) (?:it|them|(\S+)) gone\b/gi, 'delete $1'],
  [/\blet (?:it|them|this|that) (?:pass|through|go)\b/gi, 'approve'],
  [/\b(?:draw|write) up\b/gi, 'create'],
  [/\b(?:we|I) need an?\b/gi, 'create a'],
  [/\b(?:switch|turn)(?:ed)? (?:it |them )?(?:back )?on\b/gi, 'enable'],
  [/\b(?:switch|turn)(?:ed)? (?:it |them )?off\b/gi, 'disable'],
  [/\b(?:switch|turn) ([^.,;!?]{1,60}?) (?:back )?on(?=$|[.,;!?]| (?:for|in|again)\b)/gi, 'enable $1'],
  [/\b(?:switch|turn) ([^.,;!?]{1,60}?) off(?=$|[.,;!?]| (?:for|in|again)\b)/gi, 'disable $1'],
  [/\bgive (?:me|us)\b/gi, 'get'],
  [/\bact as if\b/gi, 'simulate'],
  [/\b(?:go|goes|went) wrong\b/gi, 'fail'],
  [/\b(?:write|written) off\b/gi, 'uncollectible'],
  [/\bhttps?:\/\/\S+/gi, 'url'],
  [/\b(?:hook|link|plug)(?:ed)? up\b/gi, 'connect'],
  [/\b(is|are) (\S+) (?:in|part of)\b/gi, '$1 $2 member'],
  [/\bnicht (?:mehr|länger)\b/gi, 'entferne'],
  [/\bya no\b/gi, 'quita'],
  [/\bne (\S+) plus\b/gi, 'retire $1'],
  [/\bnão (\S+) mais\b/gi, 'remova $1'],
  [/\bhand(?:ed)? ([^.,;!?]{1,60}? )?over\b/gi, 'transfer $1'],
  [/\bwho(?: is|'s) in\b/gi, 'which members are in'],
  [/\bcheck ?out\b/gi, 'checkout'],
]

/** The request with single words in place of phrases. */
export function withoutPhrases(query: string): string {
  let text = query
  for (const [phrase, word] of PHRASES) text = text.replace(phrase, word)
  return text
}
