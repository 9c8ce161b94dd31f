/** The SMTP server for notices. It connects to nothing. */
import type { SmtpServer } from '../../control-plane/mail/smtp.ts'
import { isMailAddress } from '../../model/mail.ts'
import { checkClientTls } from './client-tls.ts'
import type { Reader } from './reader.ts'

const PORTS = { 'smtp:': 587, 'smtps:': 465 } as const

/** undefined: notices are not sent by mail. */
export function readSmtp(read: Reader): SmtpServer | undefined {
  const address = read.url('SMTP_URL', ['smtps:', 'smtp:'])
  const from = read.optional('SMTP_FROM')
  const user = read.optional('SMTP_USER')
  const password = read.renewable('SMTP_PASSWORD')
  const startTls = read.flag('SMTP_STARTTLS', true)
  const certificates = {
    ca: read.renewable('SMTP_CA'),
    cert: read.renewable('SMTP_CERT'),
    key: read.renewable('SMTP_KEY'),
  }
  if (address === undefined) {
    for (const [name, value] of Object.entries({ FROM: from, USER: user, PASSWORD: password }))
      if (value !== undefined)
        read.fault(
          `SMTP_${name}`,
          'is set without SMTP_URL.',
          `Set SMTP_URL to the URL of the mail server, or unset SMTP_${name}.`,
        )
    return undefined
  }
  const { protocol, hostname, port, username, password: inUrl, pathname, search } = new URL(address)
  if (username !== '' || inUrl !== '')
    read.fault('SMTP_URL', 'contains a user or a password.', 'Set SMTP_USER and SMTP_PASSWORD_FILE instead.')
  if (hostname === '' || (pathname !== '' && pathname !== '/') || search !== '')
    read.fault(
      'SMTP_URL',
      'has no host, or contains more than a host and a port.',
      'Use a URL such as "smtp://host[:port]" or "smtps://host[:port]".',
    )
  if ((user === undefined) !== (password === undefined))
    read.fault(
      'SMTP_PASSWORD',
      'and SMTP_USER must be set together, but one of them is missing.',
      'Set both or neither.',
    )
  if (from === undefined || !isMailAddress(from))
    read.fault(
      'SMTP_FROM',
      from === undefined ? 'is missing though SMTP_URL is set.' : 'is not a mail address.',
      'Set SMTP_FROM to the address of the sender, such as "toolgate@example.com".',
    )
  const encryption = protocol === 'smtps:' ? 'implicit' : startTls ? 'starttls' : 'none'
  const tls = checkClientTls(read, 'SMTP', certificates, {
    isOn: encryption !== 'none',
    fix: 'Set SMTP_STARTTLS=true, use an smtps:// URL in SMTP_URL',
  })
  return {
    host: hostname,
    port: port === '' ? PORTS[protocol as keyof typeof PORTS] : Number(port),
    encryption,
    tls,
    login: user === undefined || password === undefined ? undefined : { user, password },
    from: from ?? '',
  }
}
