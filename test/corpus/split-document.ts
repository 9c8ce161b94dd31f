/** Splits an OpenAPI document into files that refer to each other, in the ways authors do. The same seed gives the same files. */
import { stringify } from 'yaml'

type Json = { [key: string]: unknown }

export const PARTS = ['paths', 'schemas', 'both'] as const
/** How the parts are laid out: a file each, all in one file, a map that is itself one reference, or schemas that the document does not list. */
const LAYOUTS = ['files', 'one', 'map', 'detached'] as const

export interface Split {
  /** Path relative to the folder → text; the root document is the first. */
  readonly files: ReadonlyMap<string, string>
  readonly root: string
  readonly description: string
}

export function splitDocument(document: Json, parts: (typeof PARTS)[number], seed: number): Split {
  return new Splitter(document, seed).split(parts)
}

/** Linear congruential: the same numbers in every run. */
function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

class Splitter {
  readonly #document: Json
  readonly #random: () => number
  readonly #files = new Map<string, unknown>()
  readonly #root: string
  readonly #schemasAt: string
  #detached = false
  /** Pointer of a part → the file and fragment that hold it. */
  readonly #moved = new Map<string, { readonly file: string; readonly fragment: string }>()

  constructor(document: Json, seed: number) {
    this.#document = structuredClone(document)
    this.#random = numbers(seed)
    this.#root = `openapi.${this.#extension()}`
    this.#schemasAt = document.swagger === undefined ? '/components/schemas' : '/definitions'
  }

  split(parts: (typeof PARTS)[number]): Split {
    const chosen: string[] = [parts]
    if (parts !== 'schemas') chosen.push(`paths ${this.#plan('/paths', 'paths', 'p')}`)
    if (parts !== 'paths') chosen.push(`schemas ${this.#plan(this.#schemasAt, 'schemas/model', 's')}`)
    this.#files.set(this.#root, this.#document)
    for (const [pointer, place] of this.#moved) this.#move(pointer, place.file, place.fragment)
    if (this.#detached) remove(this.#document, this.#schemasAt)
    for (const [file, value] of this.#files) this.#rewrite(value, file)
    const texts = [...this.#files].map(([file, value]) => [file, this.#text(file, value)] as const)
    const first = texts.filter(([file]) => file === this.#root)
    const files = new Map([...first, ...texts.filter(([file]) => file !== this.#root)])
    return { files, root: this.#root, description: chosen.join(', ') }
  }

  #plan(at: string, folder: string, letter: string): string {
    const group = get(this.#document, at)
    if (group === undefined) return 'none'
    let layout = LAYOUTS[Math.floor(this.#random() * LAYOUTS.length)]!
    // Names in a discriminator are those of the listed schemas.
    const isListed = letter === 'p' || JSON.stringify(this.#document).includes('"discriminator"')
    if (layout === 'detached' && isListed) layout = 'one'
    if (layout === 'detached') this.#detached = true
    const all = `${folder}/all ${letter}.${this.#extension()}`
    if (layout === 'map') this.#moved.set(at, { file: all, fragment: '' })
    else
      Object.keys(group as Json).forEach((name, i) => {
        const token = escapeToken(name)
        const file = isShared(layout) ? all : `${folder}/${letter}${i}.${this.#extension()}`
        this.#moved.set(`${at}/${token}`, { file, fragment: isShared(layout) ? `/deep/${token}` : '' })
      })
    return layout
  }

  #move(pointer: string, file: string, fragment: string): void {
    const cut = pointer.lastIndexOf('/')
    const holder = get(this.#document, pointer.slice(0, cut)) as Json
    const key = unescapeToken(pointer.slice(cut + 1))
    const value = holder[key]
    holder[key] = { $ref: this.#address(this.#root, file, fragment) }
    if (fragment === '') this.#files.set(file, value)
    else {
      const whole = (this.#files.get(file) ?? { deep: {} }) as { deep: Json }
      whole.deep[unescapeToken(fragment.slice(fragment.lastIndexOf('/') + 1))] = value
      this.#files.set(file, whole)
    }
  }

  /** References of the original document, as seen from the file that they are in now: to the file of the part, or to the root. */
  #rewrite(value: unknown, from: string): void {
    if (Array.isArray(value)) for (const child of value) this.#rewrite(child, from)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return
    const node = value as Json
    for (const [key, child] of Object.entries(node)) {
      if (key === '$ref' && typeof child === 'string' && child.startsWith('#/'))
        node.$ref = this.#seen(child, from)
      else if (key === 'mapping' && isMapping(child)) {
        for (const [name, target] of Object.entries(child))
          if (target.startsWith('#/')) child[name] = this.#seen(target, from)
      } else this.#rewrite(child, from)
    }
  }

  #seen(reference: string, from: string): string {
    const pointer = decode(reference.slice(1))
    let prefix = pointer
    while (prefix !== '' && !this.#moved.has(prefix)) prefix = prefix.slice(0, prefix.lastIndexOf('/'))
    const place = this.#moved.get(prefix)
    const isRemoved = this.#detached && prefix.startsWith(this.#schemasAt)
    const viaRoot = place === undefined || (this.#random() < 0.3 && !isRemoved)
    if (viaRoot) return from === this.#root ? reference : this.#address(from, this.#root, pointer)
    return this.#address(from, place.file, `${place.fragment}${pointer.slice(prefix.length)}`)
  }

  #address(from: string, to: string, fragment: string): string {
    const hash = fragment === '' ? '' : `#${fragment.split('/').map(this.#encode, this).join('/')}`
    if (from === to && this.#random() < 0.7) return hash === '' ? '#' : hash
    const up = '../'.repeat(from.split('/').length - 1)
    const path = to
      .split('/')
      .map(part => encodeURIComponent(part))
      .join('/')
    const dot = up === '' && this.#random() < 0.5 ? './' : ''
    return `${dot}${up}${path}${hash}`
  }

  #encode(token: string): string {
    return token.includes('%') || /[^\w.~-]/.test(token) ? encodeURIComponent(token) : token
  }

  #extension(): string {
    return this.#random() < 0.5 ? 'yaml' : 'json'
  }

  #text(file: string, value: unknown): string {
    if (file.endsWith('.json')) return JSON.stringify(value)
    return stringify(value, { aliasDuplicateObjects: false, lineWidth: 0 })
  }
}

function isShared(layout: (typeof LAYOUTS)[number]): boolean {
  return layout === 'one' || layout === 'detached'
}

function remove(document: unknown, pointer: string): void {
  const cut = pointer.lastIndexOf('/')
  delete (get(document, pointer.slice(0, cut)) as Json)[pointer.slice(cut + 1)]
}

function isMapping(value: unknown): value is { [key: string]: string } {
  return (
    value !== null &&
    typeof value === 'object' &&
    Object.values(value).every(target => typeof target === 'string')
  )
}

function get(document: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((node, token) => (node as Json | undefined)?.[unescapeToken(token)], document)
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

function escapeToken(token: string): string {
  return token.replaceAll('~', '~0').replaceAll('/', '~1')
}

function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~')
}
