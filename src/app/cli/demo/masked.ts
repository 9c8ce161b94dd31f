/** Masks JWTs and API keys of Toolgate in a text. */

/** Keeps the last eight characters of a token and the public part of a key: enough to distinguish two, useless as a credential. */
export function mask(text: string): string {
  return text
    .replace(/eyJ[A-Za-z0-9_.-]{16,}/g, token => `eyJ…${token.slice(-8)}`)
    .replace(/(tgk_[A-Za-z0-9]{8})_[A-Za-z0-9_-]{16,}/g, '$1_…')
}
