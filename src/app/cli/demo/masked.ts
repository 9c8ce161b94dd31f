/** Makes tokens and keys unusable before they are shown. It knows nothing of where they stand. */

/** Of a token `eyJ…` and the last eight characters, of a key its public part: enough to tell two apart, useless as a credential. */
export function masked(text: string): string {
  return text
    .replace(/eyJ[A-Za-z0-9_.-]{16,}/g, token => `eyJ…${token.slice(-8)}`)
    .replace(/(tgk_[A-Za-z0-9]{8})_[A-Za-z0-9_-]{16,}/g, '$1_…')
}
