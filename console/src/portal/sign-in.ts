/** The address of the login, which keeps the page that a visitor leaves for it. */
import { href, path, segments } from '../state/router.ts'

export const SIGN_IN = 'sign-in'

export function signInHref(): string {
  if (segments.value[0] === SIGN_IN) return href(path.value)
  return href(path.value === '' ? SIGN_IN : `${SIGN_IN}/${path.value}`)
}
