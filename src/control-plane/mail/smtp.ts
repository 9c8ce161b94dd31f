/** Sends one mail to the SMTP server of the deployment, with a limit of time. */
import { connect, type Socket } from 'node:net'
import { createTransport } from 'nodemailer'
import { bareHost } from '../../base/bare-host.ts'
import type { MailOutcome } from '../../model/mail.ts'
import { type ClientTls, clientTlsOptions, presentText, type Renewable } from '../../net/tls/client-tls.ts'
import type { ClaimedMail } from '../store/notice-repositories.ts'

/** From the connection to the response to the mail. */
const DEFAULT_TIMEOUT_MS = 30_000
const MAX_ERROR = 500

export interface SmtpServer {
  readonly host: string
  readonly port: number
  /** `implicit`: from the first byte; `starttls`: required before the login and the mail are sent; `none`: not encrypted. */
  readonly encryption: 'implicit' | 'starttls' | 'none'
  readonly tls: ClientTls | undefined
  readonly login: { readonly user: string; readonly password: Renewable } | undefined
  /** Address of the sender. */
  readonly from: string
}

/** Never rejects. */
export async function sendMail(
  mail: ClaimedMail,
  server: SmtpServer,
  timeoutMs = DEFAULT_TIMEOUT_MS,
): Promise<MailOutcome> {
  let socket: Socket | undefined
  let isLate = false
  const late = `the mail server did not accept the mail within ${timeoutMs / 1000} s`
  // a server that sends single bytes never reaches the timeouts of the library
  const timer = setTimeout(() => {
    isLate = true
    socket?.destroy(new Error(late))
  }, timeoutMs)
  const { host, port, encryption, tls, login, from } = server
  const transport = createTransport({
    host: bareHost(host),
    port,
    secure: encryption === 'implicit',
    requireTLS: encryption === 'starttls',
    ignoreTLS: encryption === 'none',
    ...(tls === undefined ? {} : { tls: clientTlsOptions(tls) }),
    ...(login === undefined ? {} : { auth: { user: login.user, pass: presentText(login.password) } }),
    // later than the limit above, which gives the reason
    connectionTimeout: 2 * timeoutMs,
    greetingTimeout: 2 * timeoutMs,
    socketTimeout: 2 * timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
    getSocket(_options, ready) {
      const opened = connect({ host: bareHost(host), port })
      socket = opened
      const handleFailure = (error: Error): void => ready(error)
      opened.once('error', handleFailure)
      opened.once('connect', () => {
        opened.off('error', handleFailure)
        ready(null, { connection: opened })
      })
    },
  })
  try {
    await transport.sendMail({
      from,
      to: mail.recipient,
      envelope: { from, to: mail.recipient },
      subject: mail.subject,
      text: mail.body,
      // the same in every attempt, so that receivers recognize a repetition
      messageId: `<${mail.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
      date: mail.createdAt,
      // RFC 3834 §5: no automatic responses
      headers: { 'Auto-Submitted': 'auto-generated' },
    })
    return { sent: true }
  } catch (error) {
    if (isLate) return { sent: false, permanent: false, error: late }
    return failure(error, login === undefined ? undefined : presentText(login.password))
  } finally {
    clearTimeout(timer)
    transport.close()
    socket?.destroy()
  }
}

/** A mail is refused for good by a 5xx response to its addresses or its content (RFC 5321 §4.2.1), and not by one to the login. */
function failure(error: unknown, password: string | undefined): MailOutcome {
  const { code, responseCode, message } = error as { code?: string; responseCode?: number; message?: string }
  const isOfMail = code === 'EENVELOPE' || code === 'EMESSAGE'
  const permanent = isOfMail && responseCode !== undefined && responseCode >= 500
  const text = (message ?? String(error)).replaceAll('\0', ' ')
  const shown = password === undefined || password === '' ? text : text.replaceAll(password, '[redacted]')
  return { sent: false, permanent, error: shown.slice(0, MAX_ERROR) }
}
