/** Mails to a real SMTP server, and to one that sends single bytes: encryption, login, refusals, time limits, texts that try to become headers. */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type SmtpServer, sendMail } from '../../../../src/control-plane/mail/smtp.ts'
import { noticeText } from '../../../../src/model/notice-mail.ts'
import { Authority } from '../../../fixtures/certificates.ts'
import { freePort } from '../../../fixtures/free-ports.ts'
import {
  hasSmtp,
  type MailServer,
  type MailServerOptions,
  SMTP_HINT,
  startMailServer,
} from '../../../fixtures/smtp-server.ts'

const present = (text: string) => ({ text, file: undefined })

const mail = (recipient: string, subject = 'A notice', body = 'One line\n') => ({
  id: 'msg_00000000000000000000000000',
  tenantId: 'ten_00000000000000000000000000',
  recipient,
  subject,
  body,
  attempt: 0,
  createdAt: new Date('2026-03-01T10:00:00Z'),
})

describe.skipIf(!hasSmtp())(`mail to a real SMTP server${hasSmtp() ? '' : SMTP_HINT}`, () => {
  const dir = mkdtempSync(join(tmpdir(), 'smtp-'))
  const authority = new Authority(dir)
  const issued = authority.issue('mail')
  const ca = { ca: { text: '', file: authority.ca }, cert: undefined, key: undefined }
  let server: MailServer | undefined

  async function start(options: MailServerOptions): Promise<SmtpServer> {
    server = await startMailServer(options)
    const encryption = options.mode === 'plain' ? 'none' : options.mode
    const tls = options.mode === 'plain' ? undefined : ca
    const { port } = server
    return { host: 'localhost', port, encryption, tls, login: undefined, from: 'toolgate@example.com' }
  }
  /** The server reports a mail a moment after it has accepted it. */
  const received = (mails: number) =>
    vi.waitFor(() => {
      expect(server!.received).toHaveLength(mails)
      return server!.received
    }, 15_000)
  afterEach(async () => server?.stop())
  afterAll(() => rmSync(dir, { recursive: true, force: true }))

  it.each(['plain', 'starttls', 'implicit'] as const)('arrives (%s)', async mode => {
    const target = await start({ mode, ...issued })
    expect(await sendMail(mail('ops@example.com'), target)).toEqual({ sent: true })
    expect(await received(1)).toEqual([
      expect.objectContaining({
        from: 'toolgate@example.com',
        to: ['ops@example.com'],
        tls: mode !== 'plain',
      }),
    ])
    const { text } = server!.received[0]!
    expect(text).toContain('Subject: A notice')
    expect(text).toContain('Auto-Submitted: auto-generated')
    expect(text).toContain('Message-ID: <msg_00000000000000000000000000@example.com>')
    expect(text).toContain('One line')
  })

  it('signs in, and a wrong password is retried, not shown', async () => {
    const target = await start({ mode: 'starttls', ...issued, login: ['toolgate', 'right-password'] })
    const login = (password: string) => ({ user: 'toolgate', password: present(password) })
    const wrong = await sendMail(mail('ops@example.com'), { ...target, login: login('wrong-password') })
    expect(wrong).toMatchObject({ sent: false, permanent: false, error: expect.stringContaining('535') })
    expect(JSON.stringify(wrong)).not.toContain('wrong-password')
    expect(await sendMail(mail('ops@example.com'), { ...target, login: login('right-password') })).toEqual({
      sent: true,
    })
    expect((await received(1)).map(({ user }) => user)).toEqual(['toolgate'])
  })

  it('does not send to a server with a certificate of an unknown authority, nor to one without STARTTLS', async () => {
    const target = await start({ mode: 'implicit', ...issued })
    const unknown = { ...target, tls: { ca: undefined, cert: undefined, key: undefined } }
    expect(await sendMail(mail('ops@example.com'), unknown)).toMatchObject({ sent: false, permanent: false })
    await server!.stop()
    const plain = await start({ mode: 'plain' })
    const required = { ...plain, encryption: 'starttls' as const, tls: ca }
    expect(await sendMail(mail('ops@example.com'), required)).toMatchObject({ sent: false, permanent: false })
    expect(server!.received).toEqual([])
  })

  it('a 5xx response ends the mail, a 4xx response does not', async () => {
    const target = await start({ mode: 'plain' })
    expect(await sendMail(mail('refused@example.com'), target)).toMatchObject({
      sent: false,
      permanent: true,
      error: expect.stringContaining('550'),
    })
    expect(await sendMail(mail('greylisted@example.com'), target)).toMatchObject({
      sent: false,
      permanent: false,
    })
    expect(await sendMail(mail('greylisted@example.com'), target)).toEqual({ sent: true })
  })

  it('a server that hangs, and one that is not there, are given up', async () => {
    const target = await start({ mode: 'plain' })
    expect(await sendMail(mail('hangs@example.com'), target, 500)).toEqual({
      sent: false,
      permanent: false,
      error: 'the mail server did not accept the mail within 0.5 s',
    })
    expect(await sendMail(mail('ops@example.com'), { ...target, port: await freePort() })).toMatchObject({
      sent: false,
      permanent: false,
      error: expect.stringContaining('ECONNREFUSED'),
    })
  })

  it('values that callers choose begin no header and no line', async () => {
    const target = await start({ mode: 'plain' })
    const data = {
      api_name: 'Orders\r\nBcc: victim@example.com\r\n\r\n.\r\nMAIL FROM:<x@example.com>\u2028Bcc: y',
    }
    const { subject, body } = noticeText('subscription.expiring', { ...data, expires_at: 'now' }, 'acme')
    expect(await sendMail(mail('ops@example.com', subject, body), target)).toEqual({ sent: true })
    await received(1)
    expect(server!.received[0]!.to).toEqual(['ops@example.com'])
    expect(server!.received[0]!.text).not.toMatch(/^(Bcc|MAIL FROM|\.)/im)
  })
})

describe('a server that sends single bytes', () => {
  let drip: Server
  beforeAll(async () => {
    drip = createServer(socket => {
      socket.on('error', () => {})
      const timer = setInterval(() => socket.write('2'), 50)
      socket.on('close', () => clearInterval(timer))
    })
    await new Promise<void>(resolve => drip.listen(0, '127.0.0.1', resolve))
  })
  afterAll(() => drip.close())

  it('is given up after the limit of the whole attempt', async () => {
    const { port } = drip.address() as { port: number }
    const server = { encryption: 'none', tls: undefined, login: undefined, from: 'a@example.com' } as const
    expect(await sendMail(mail('b@example.com'), { ...server, host: '127.0.0.1', port }, 600)).toEqual({
      sent: false,
      permanent: false,
      error: 'the mail server did not accept the mail within 0.6 s',
    })
  })
})
