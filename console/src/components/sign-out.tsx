/** The sign-out button, and why a logout failed: a page must not look signed out while its cookie is valid. `state/session.ts` sends the logout. */
import { signOut, signOutError } from '../state/session.ts'

export function SignOutButton() {
  return (
    <button type="button" class="button small" onClick={() => void signOut()}>
      Sign out
    </button>
  )
}

export function SignOutFailure() {
  return signOutError.value === undefined ? null : (
    <p class="notice bad" role="alert">
      You are still signed in, because the sign-out failed: {signOutError.value}
    </p>
  )
}
