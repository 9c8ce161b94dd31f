/** Pins the statements of migrations 1 to 5 and 7, since every database keeps the checksum of what was applied. It does not pin the other ones. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../../../../src/control-plane/store/migrations/index.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('the statements of the pinned migrations are unchanged', () => {
  const checksums = MIGRATIONS.map(({ name, statements }) => [name, sha256(statements.join(';\n'))])
  expect(Object.fromEntries(checksums)).toMatchObject({
    '0001-tables': '935d083eb647acc9172540211245528e270ccd5c6fd6549ee8ab6a7c6d9e02d4',
    '0002-row-level-security': '0c92357107784b89759ca11ec23ff7a07e1a9ab9b465c338c0f5e4246a4fed1c',
    '0003-seeded-plans': '541eac00fa3c2fea84e76976fd6b6a52834ce8388e93fcb6f88f69ff9e83783d',
    '0004-webhooks': '81b8cfcbef1ad94e29021cf0db416c3f1313c8c69c5a08d02fe176e56de4e36a',
    '0005-metering': 'c42f3ef5b93be7ac42d76a2f8bdae32d6a8d801d6918f479215dfabbe8f89023',
    '0007-api-passthrough': '7909c987c7cd100b84f69529aaf40d4f766a31896c55387fb3f09c33e919cc48',
  })
})
