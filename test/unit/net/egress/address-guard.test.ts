/** Which addresses and Unix sockets the guard lets through, range by range, and which entries of the allow list it refuses. */
import { isIP } from 'node:net'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createAddressGuard } from '../../../../src/net/egress/address-guard.ts'

const closed = createAddressGuard({ allow: [], allowLoopback: false })

describe('the address guard', () => {
  it('lets public unicast addresses through', () => {
    for (const address of [
      '1.1.1.1',
      '8.8.8.8',
      '93.184.215.14',
      '172.15.255.255',
      '172.32.0.0',
      '11.0.0.1',
      '100.63.255.255',
      '100.128.0.0',
      '168.63.129.15',
      '169.253.255.255',
      '223.255.255.255',
      '2606:4700:4700::1111',
      '2a00:1450:4001:80e::200e',
      '::ffff:8.8.8.8',
      '::ffff:808:808',
    ])
      expect(closed.refusal(address, 'a.example'), address).toBeUndefined()
  })

  it('names the range it refuses', () => {
    expect(closed.refusal('127.0.0.1', 'x')).toBe('a loopback address')
    expect(closed.refusal('::ffff:10.1.2.3', 'x')).toBe('a private address')
    expect(closed.refusal('169.254.169.254', 'x')).toBe('a linkLocal address')
    expect(closed.refusal('168.63.129.16', 'x')).toBe('a platform metadata address')
    expect(closed.refusal('::7f00:1', 'x')).toBe('a non-global address')
    expect(closed.refusal('fe80::1%eth0', 'x')).toBe('a linkLocal address')
    expect(closed.refusal('', 'x')).toBe('not an IP address')
  })

  it('refuses every IPv4 address of a closed block in all its IPv6 disguises', () => {
    const octet = fc.integer({ min: 0, max: 255 })
    const inside = fc.oneof(
      fc.tuple(fc.constant(127), octet, octet, octet),
      fc.tuple(fc.constant(10), octet, octet, octet),
      fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
      fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
      fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
    )
    fc.assert(
      fc.property(inside, ([a, b, c, d]) => {
        const v4 = `${a}.${b}.${c}.${d}`
        const high = ((a << 8) | b).toString(16)
        const low = ((c << 8) | d).toString(16)
        const forms = [
          v4,
          `::ffff:${v4}`,
          `::ffff:${high}:${low}`,
          `::${high}:${low}`,
          `::ffff:0:${high}:${low}`,
          `64:ff9b::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `2001:0:${high}:${low}::`,
          `2a00::5efe:${high}:${low}`,
          `2a00::200:5efe:${high}:${low}`,
        ]
        for (const form of forms) expect(closed.refusal(form, 'x'), form).toBeDefined()
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses any text that is not an address', () => {
    const nearAddress = fc.string({ unit: fc.constantFrom(...'0127af.:x/% ') })
    fc.assert(
      fc.property(fc.oneof(fc.string(), nearAddress), text => {
        // an address may have a zone
        fc.pre(isIP(text.split('%', 1)[0]!) === 0)
        expect(closed.refusal(text, 'x')).toBe('not an IP address')
      }),
      { numRuns: 5000 },
    )
    for (const odd of ['0x7f.1', '0177.0.0.1', '2130706433', '127.1', ' 8.8.8.8', '8.8.8.8 ', '8.8.8.8/32'])
      expect(closed.refusal(odd, 'x'), odd).toBe('not an IP address')
  })

  it('opens CIDRs, single addresses and names of the allow list, each alone', () => {
    const guard = createAddressGuard({
      allow: ['10.1.0.0/16', ' fd00:1::/32', '192.168.7.7', '2002:a00:1::/48', 'svc.internal'],
      allowLoopback: false,
    })
    for (const open of ['10.1.255.255', '::ffff:10.1.0.1', 'fd00:1::9', '192.168.7.7', '2002:a00:1::5'])
      expect(guard.refusal(open, 'x'), open).toBeUndefined()
    for (const shut of ['10.2.0.1', 'fd00:2::9', '192.168.7.8', '2002:a00:2::5', '127.0.0.1', '::1'])
      expect(guard.refusal(shut, 'x'), shut).toBeDefined()
    expect(guard.refusal('10.9.9.9', 'svc.internal')).toBeUndefined()
    expect(guard.refusal('10.9.9.9', 'svc.internal.evil.example')).toBeDefined()
  })

  it('opens listed Unix sockets and those of listed folders, no other, and no address by them', () => {
    const guard = createAddressGuard({
      allow: ['unix:/run/shop.sock', ' unix:/run/backends/ ', '0.0.0.0/0', 'run'],
      allowLoopback: true,
    })
    for (const open of ['/run/shop.sock', '/run/backends/a', '/run/backends/b/c.sock'])
      expect(guard.allowsSocket(open), open).toBe(true)
    for (const shut of [
      '/run/docker.sock',
      '/run/shop.sock2',
      '/run/shop.sock/x',
      '/run/backends',
      '/run/backends2/a',
    ])
      expect(guard.allowsSocket(shut), shut).toBe(false)
    expect(closed.allowsSocket('/run/shop.sock')).toBe(false)
    expect(guard.refusal('/run/shop.sock', '/run/shop.sock')).toBe('not an IP address')
  })

  it('refuses to start with an entry it cannot read, and names it', () => {
    for (const bad of [
      'http://x',
      'host:80',
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0.0/',
      '10.0/8',
      '*',
      '1.2.3',
      '',
      'a b',
      '::1/x',
      'unix:',
      'unix:/',
      'unix:run/shop.sock',
      'unix:/run//shop.sock',
      'unix:/run/../shop.sock',
      'unix:/run/./',
      'unix:/run/a\0b',
      `unix:/${'x'.repeat(107)}`,
      'UNIX:/run/shop.sock',
      'unix:///run/shop.sock',
    ])
      expect(() => createAddressGuard({ allow: [bad], allowLoopback: false }), bad).toThrow(`"${bad}"`)
  })
})
