/** Pins the statements of migrations 1 to 5 and 7, since every database keeps the checksum of what was applied. It does not pin the other ones. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { MIGRATIONS } from '../../../../src/control-plane/store/migrations/index.ts'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

test('the statements of the pinned migrations are unchanged', () => {
  const checksums = MIGRATIONS.map(({ name, statements }) => [name, sha256(statements.join(';\n'))])
  // a migration that is added gets its line with its release
  expect(Object.fromEntries(checksums)).toEqual({
    '0001-tables': '935d083eb647acc9172540211245528e270ccd5c6fd6549ee8ab6a7c6d9e02d4',
    '0002-row-level-security': '0c92357107784b89759ca11ec23ff7a07e1a9ab9b465c338c0f5e4246a4fed1c',
    '0003-seeded-plans': '541eac00fa3c2fea84e76976fd6b6a52834ce8388e93fcb6f88f69ff9e83783d',
    '0004-webhooks': '81b8cfcbef1ad94e29021cf0db416c3f1313c8c69c5a08d02fe176e56de4e36a',
    '0005-metering': 'c42f3ef5b93be7ac42d76a2f8bdae32d6a8d801d6918f479215dfabbe8f89023',
    '0006-webhook-headers': '3bdc48d5897ec4f340f73f83f4e47f5bfea646e42cbfdf247f92e60e2b733758',
    '0007-api-passthrough': '7909c987c7cd100b84f69529aaf40d4f766a31896c55387fb3f09c33e919cc48',
    '0008-configuration': '49ef890dfb7c82e4d90784cde865313ce2c5a357d856cf3d95992a94c8814f10',
    '0009-living-subscriptions': 'f7ec2c2193543c3f9d8940bd75163419d149adea15e1884afcb5800c25945a5a',
    '0010-audit': 'a4bfad8461155ca897e7e33bafc1acb5158167d09db85c97e67b6292f17355a0',
    '0011-list-indexes': '68f5c3f03486e509710a66b63f17a36709ecefefbc8fcb87cf08d9ad767223d6',
    '0012-api-versions': 'db3b3121849b325109e1d10bc82ad34d2f2ba81ae2acdec2cddf9db7bf13744a',
    '0013-api-traffic': '325797b0f5689898e117fac2813b5bb432850ff931c9e0b87691dbd80cbd8c7e',
    '0014-api-visibility': 'e06a7ac163265dd5fad1ef896ded7b303e285e6a15eb4339348928654ba7934d',
    '0016-mcp-apis': '713338fb5bb4ee8575c17df8d84b1788acba6bb5e97251226656ecbc2fe83627',
    '0017-notices': 'fea51d9d254a22ca2f159e0ad85266f84dd8d6bb16c1e94cbfe7a22471991720',
    '0018-products': '974356c35b1277fef43a9af16e7510201bb5daac4813a9725918c6476024509d',
    '0019-shared-apis': 'be198c6945be50ce625b9ed81d07eb39c7557999928491eb43d2800ce632b68b',
    '0020-scale-indexes': 'b77f2166dab9df12472ec0e80f7793af3fa1a9c571b5f14ef02c0ce699ae043f',
    '0021-scope-once': 'f7fd1c6b7fb91b8b71ceea7321fe1919a1cb460f0ff3a542d4e3b9444a7b0b46',
    '0022-tenant-indexes': '148b8327ecf47e82d80cdb050639e92f91abccb060c0b993276f876a684f9021',
  })
})
