/** The login page: the gateway's OAuth login, and in development one button for each client. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { query } from '../state/router.ts'
import { loginAddress, session, sessionError, signInForDevelopment, siteTitle } from '../state/session.ts'

export function Login() {
  const { login } = session.value!
  const failure = useSignal(query.value.get('login_error') ?? sessionError.value)
  const busy = useSignal(false)
  useEffect(() => {
    document.title = `Sign in · ${siteTitle.value}`
  }, [])
  const signIn = async (client: string): Promise<void> => {
    busy.value = true
    try {
      await signInForDevelopment(client)
    } catch (error) {
      failure.value = (error as Error).message
      busy.value = false
    }
  }
  return (
    <main class="login">
      <div class="card">
        <div>
          <h1>{session.value!.site === null ? 'Toolgate console' : siteTitle.value}</h1>
          <p class="muted">
            Sign in with your identity provider. The policy in force decides what you may see and change.
          </p>
        </div>
        {failure.value !== undefined && (
          <p class="notice bad" role="alert">
            {failure.value}
          </p>
        )}
        {login.provider ? (
          <a class="button primary" href={loginAddress()} data-reload>
            Sign in
          </a>
        ) : (
          <p class="notice warn">
            No identity provider is configured, so you cannot sign in. To enable sign-in, set AUTH_ISSUER.
          </p>
        )}
        {login.demo.length > 0 && (
          <>
            <p class="divider">Development</p>
            <div class="stack">
              {[...login.demo].reverse().map(client => (
                <button
                  key={client}
                  type="button"
                  class="button"
                  disabled={busy.value}
                  onClick={() => void signIn(client)}
                >
                  Continue as {client}
                </button>
              ))}
            </div>
          </>
        )}
        {session.value!.has_portal && (
          <p class="muted">
            To find and use APIs, open the{' '}
            <a href="../portal/" data-reload>
              developer portal
            </a>
            .
          </p>
        )}
      </div>
    </main>
  )
}
