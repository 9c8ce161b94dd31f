/** Words of requests that mean the same as words of API documents: general words of software and trade, none of a certain API. It ranks nothing. */
import { wordsOf } from './words.ts'

/** Each line: words that stand for each other. */
const GROUPS = `
add attach append include
allow permit enable grant
app application
archive export
assign assignee
attempt try delivery
basket cart
belong member membership
bill billing charge cost expense
block ban
branch ref
buyer client customer shopper
buy order purchase
cancel abort withdraw revoke call-off
category group section
chargeback dispute
change edit modify update amend correct
check verify validate
ci workflow action pipeline
close finish
collaborator contributor
comment reply note remark
config configuration setting preference
create make new open define
credential token secret
delete remove erase purge destroy drop exclude
disable deactivate
discount coupon
document file
download fetch
download export
email mail
enable activate
execute run trigger dispatch start
field property attribute
file content
find search query lookup match
follow follower
forward send deliver
hook webhook
history revision commit log event activity
id identifier number
import ingest load upload
inventory stock
invite invitation
issue ticket bug
item entry element line
kick remove expel
label tag
leak exposed secret
limit restriction restrict quota
link url address
list all index
location place site
lock freeze
login signin
logout signout
member user person people
merge combine
method way
minute usage time
money balance fund
move transfer shift
name title rename
notification alert
org organization organisation company
owner holder
package library module
pay payment settle
payout withdrawal
permission access role right
person individual director owner representative
picture image photo
pr pull
price cost amount
product article goods
project board
protect protection guard
public publicly
quantity amount number stock
reaction emoji heart thumb
read get view
redeliver resend again
reject decline deny
release version
repo repository
request call
rerun rerequest again retry
restore undelete recover bring-back
return refund
review rating opinion feedback
runner agent machine
screen display
send email forward deliver
ship deliver carrier dispatch
snippet gist
statistic stat metric report figure
status state progress
stop end cancel
store save put keep
subscribe subscription watch watcher
suspend pause
team group
upload send
user account
verification check verify
view traffic visit
visible public
warehouse stock inventory
`
/** How much an expanded word counts beside the one that was written. */
const WEIGHT = 0.35

const OF_WORD = new Map<string, Map<string, number>>()
for (const line of GROUPS.trim().split('\n')) {
  const words = line.split(' ').map(word => wordsOf(word)[0]!)
  for (const word of words)
    for (const other of words) {
      if (other === word) continue
      const known = OF_WORD.get(word) ?? new Map<string, number>()
      OF_WORD.set(word, known.set(other, WEIGHT))
    }
}

const NONE: ReadonlyMap<string, number> = new Map()

export function expansionsOf(word: string): ReadonlyMap<string, number> {
  return OF_WORD.get(word) ?? NONE
}

const FILLERS = new Set(
  wordsOf(
    'a an the of to in on at for from by with and or is are was were be been am do does did it its this that these those i we you he she they me my our your his her their us them as so now please can could would should will may might must there here up out if whether just let also only too want need like what which who whose whom where when how any some has have had into about than then again',
  ),
)

export function isFiller(word: string): boolean {
  return FILLERS.has(word)
}

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
