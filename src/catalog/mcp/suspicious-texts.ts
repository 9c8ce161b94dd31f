/** Finds texts of an MCP server that may instruct models: known forms of tool poisoning and shadowing. Findings for the owner, not a filter. */
import { isObject } from '../../base/json/is-object.ts'
import { MAX_FINDINGS } from '../../model/pending-definitions.ts'
import type { Tool } from '../../model/tool.ts'
import { INVISIBLE } from '../compile/words.ts'

/** What such a text does, and how it is recognized. Gaps stay within a sentence. */
const FORMS: readonly (readonly [about: string, pattern: RegExp])[] = [
  ['contains invisible characters', new RegExp(INVISIBLE.source, 'u')],
  ['contains terminal control codes', /\u001b\[|\u009b/],
  [
    'addresses the model in markup',
    /<\/?\s*(?:important|system|secret|hidden|critical|instructions?)\b[^<>]{0,40}>|<!--|\[\/?INST\]|<\|[a-z_]{2,20}\|>|^#{2,}\s*(?:system|instructions?)\b/im,
  ],
  [
    'sets other instructions aside',
    /\b(?:ignore|disregard|forg?et|override|bypass)\b[^.\n]{0,40}\b(?:instructions?|rules|guidelines|prompts?|safety|policies)\b/i,
  ],
  [
    'hides something from the user',
    /\b(?:do not|don['’]t|never|without|must not)\b[^.\n]{0,30}\b(?:tel+|inform|mention|reveal|show|notify|ask|disclos|notif)\w*\b[^.\n]{0,30}\b(?:user|human|anyone|people|person)s?\b|\b(?:secretly|silently|covertly)\b/i,
  ],
  [
    'says when to call tools',
    /\b(?:first|always|immediately)\s+(?:call|invoke|run|execute|read)\b|\b(?:before|instead of|prior to|whenever|after)\b[^.\n]{0,30}\b(?:any|every|all|each|other|another)\b[^.\n]{0,15}\btools?\b|\b(?:call|use|invoke|run)\b[^.\n]{0,20}\bthis tool\b[^.\n]{0,20}\b(?:first|before)\b|\balso (?:present|available)\b[^.\n]{0,30}\btools?\b/i,
  ],
  [
    'asks for what the model knows',
    /\bsystem prompt\b|\b(?:conversation|chat) (?:history|context)\b|\b(?:entire|whole|full|previous) (?:conversation|chat|context|messages)\b/i,
  ],
  [
    'names files or variables that hold secrets',
    /(?:^|[\s"'`(~/])\.(?:ssh|aws|kube|gnupg|npmrc|netrc|env|git-credentials)\b|\bid_(?:rsa|ed25519|ecdsa)\b|\/etc\/(?:passwd|shadow)\b|\bmcp\.json\b|\benvironment variables?\b|\bprintenv\b/i,
  ],
  [
    'contains encoded data',
    /(?=[A-Za-z0-9+/]{0,60}[0-9])(?=[A-Za-z0-9+/]{0,60}[A-Z])[A-Za-z0-9+/_-]{100,}={0,2}/,
  ],
]
/** The part of a text that is searched; models see less. */
const MAX_CHARS = 20_000
const MAX_DEPTH = 64

/** @param entry of a list of the server, as it was sent */
export function suspiciousTexts(name: string, entry: unknown): string[] {
  const found: string[] = []
  const said = new Set<string>()
  for (const [where, text] of textsOf(entry, '')) {
    const read = text.slice(0, MAX_CHARS)
    for (const [about, pattern] of FORMS) {
      if (said.has(about) || !pattern.test(read)) continue
      said.add(about)
      found.push(`${clean(name)}: ${clean(where)} ${about}`)
    }
  }
  return found
}

/** Names of members are texts that models read, too. */
function* textsOf(
  value: unknown,
  where: string,
  depth = 0,
): Generator<readonly [where: string, text: string]> {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') yield [where, value]
  else if (Array.isArray(value)) for (const item of value) yield* textsOf(item, where, depth + 1)
  else if (isObject(value))
    for (const [name, inner] of Object.entries(value)) {
      const at = where === '' ? name : `${where}.${name}`
      yield [where, name]
      yield* textsOf(inner, at, depth + 1)
    }
}

/** Tools whose description names a tool of another tool set: it may change how models use that one. @param others names of those tools */
export function shadowingTexts(tools: readonly Tool[], others: ReadonlySet<string>): string[] {
  return tools.flatMap(({ name, operation, description, mcp }) => {
    if (mcp === undefined) return []
    const words = new Set(description.split(/[^A-Za-z0-9_.-]+/).map(word => word.replace(/[.-]+$/, '')))
    // a name of one plain word is a word of the language
    const named = [...words].filter(word => /[_.-]|[a-z][A-Z]/.test(word) && others.has(word))
    return named
      .filter(word => word !== name && word !== operation)
      .map(word => `${clean(name)}: description names ${word}, a tool of another tool set`)
  })
}

export function boundFindings(findings: readonly string[]): readonly string[] {
  if (findings.length <= MAX_FINDINGS) return findings
  const kept = findings.slice(0, MAX_FINDINGS - 1)
  return [...kept, `and ${findings.length - kept.length} more`]
}

function clean(text: string): string {
  return text.slice(0, 128).replace(INVISIBLE, '').replace(/\n/g, ' ')
}
