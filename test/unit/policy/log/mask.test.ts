/** Names and texts that the log of decisions masks, and those that it keeps. */
import { describe, expect, it } from 'vitest'
import { maskArguments, maskText } from '../../../../src/policy/log/mask.ts'

const shown = (value: unknown) =>
  maskArguments(value, { allowed: undefined, sensitive: new Set<string>() }).value

describe('names of secrets', () => {
  it.each([
    'password userPwd pwd_hash DB_PASSWD clientSecret access_token apiKey api-key x-api-key private_key',
    'otp otp_code smsOtp totp one_time_code oneTimePassword jwt sessionId authorization credentials cvv',
    'passwort Kennwort contraseña clave senha mot_de_passe motDePasse wachtwoord lösenord hasło heslo',
    'parola şifre пароль 密码 口令 パスワード 비밀번호 كلمة_المرور סיסמה',
  ])('%s', names => {
    for (const name of names.split(' '))
      expect([name, shown({ [name]: 'x' })]).toEqual([name, { [name]: '[masked]' }])
  })

  it('other names are kept', () => {
    const kept = {
      option: 'a',
      enclave: 'b',
      expand: 'c',
      hotpot: 'd',
      keyboard: 'e',
      adopt: 'f',
      stamp: 'g',
    }
    expect(shown(kept)).toEqual(kept)
  })
})

it('user info in an address is a secret', () => {
  expect(maskText('https://user:hunter2@db.example.com/x')).toBe('[masked]')
  expect(maskText('redis://:hunter2@cache:6379')).toBe('[masked]')
  for (const text of ['https://db.example.com:8443/x', 'see https://a.example/@user', 'a://b'])
    expect(maskText(text)).toBe(text)
})
