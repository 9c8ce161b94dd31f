/** Words of requests that mean the same as words of API documents: general words of software and trade, none of a certain API. It ranks nothing. */
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
/** How much a synonym counts beside the word that was written. */
export const SYNONYM_WEIGHT = 0.28

const OF_WORD = new Map<string, Set<string>>()
for (const line of GROUPS.trim().split('\n')) {
  const words = wordsOf(line)
  for (const word of words) {
    const others = OF_WORD.get(word) ?? new Set()
    for (const other of words) if (other !== word) others.add(other)
    OF_WORD.set(word, others)
  }
}

const NONE: ReadonlySet<string> = new Set()

export function synonymsOf(word: string): ReadonlySet<string> {
  return OF_WORD.get(word) ?? NONE
}

/** Words that say nothing about a tool. */
const FILLERS = new Set(
  wordsOf(`a an the of to in on at for from by with and or is are was were be been am do does did it its this that these those i we you
    he she they me my our your his her their us them as so now please can could would should will may might must there here up out if
    whether just let also only too want need like what which who whose whom where when how any some has have had into about than then
    again`),
)

export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

/** What a verb and a particle say together. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\b(?:sign|log)(?:ged)? ?(?:me )?in\b/gi, 'login'],
  [/\b(?:sign|log)(?:ged)? ?(?:me )?out\b/gi, 'logout'],
  [/\bcall off\b/gi, 'cancel'],
  [/\b(?:bring|get) back\b/gi, 'restore'],
  [/\b(?:get rid of|no longer|stop)\b/gi, 'remove'],
  [/\b(?:turn|switch)(?:ed)? on\b/gi, 'enable'],
  [/\b(?:turn|switch)(?:ed)? off\b/gi, 'disable'],
  [/\blook up\b/gi, 'get'],
  [/\b(?:set|spin) up\b/gi, 'create'],
]

/** The request with single words in place of phrases. */
export function withoutPhrases(query: string): string {
  let text = query
  for (const [phrase, word] of PHRASES) text = text.replace(phrase, word)
  return text
}
