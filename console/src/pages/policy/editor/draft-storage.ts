/** Keeps the policy draft in the session storage of the tab, so that opening another page does not lose it; compares drafts. */

/** Path → text. */
export type Files = Readonly<Record<string, string>>

export interface KeptDraft {
  readonly files: Files
  /** The revision with which it was begun. */
  readonly base: string
}

const KEY = 'toolgate-policy-draft'

export function keptDraft(): KeptDraft | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

export function keepDraft(draft: KeptDraft): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(draft))
  } catch {
    // without storage the draft lasts as long as the page
  }
}

export function removeDraft(): void {
  try {
    sessionStorage.removeItem(KEY)
  } catch {
    // nothing is kept without storage
  }
}

export function sameFiles(a: Files, b: Files): boolean {
  const paths = Object.keys(a)
  return paths.length === Object.keys(b).length && paths.every(path => a[path] === b[path])
}
