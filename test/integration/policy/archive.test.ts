/** Bundles as archives: hostile ones are refused, and ours are the same bytes whatever the order of their files. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { pack, unpack } from '../../../src/policy/archive.ts'

const LIMITS = { maxCompressedBytes: 1_000_000, maxBytes: 1_000_000 }

function packed(files: Readonly<Record<string, string>>): Buffer {
  return pack(new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text)])))
}

/** Changes the tar inside and corrects the checksum of the first header. */
function withTar(archive: Buffer, change: (tar: Buffer) => void): Buffer {
  const tar = gunzipSync(archive)
  change(tar)
  let sum = 8 * 0x20
  for (let i = 0; i < 512; i++) if (i < 148 || i >= 156) sum += tar[i]!
  tar.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return gzipSync(tar)
}

describe('pack and unpack', () => {
  it('give back what was packed', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc
            .stringMatching(/^[a-z][a-z0-9_./-]{0,40}[a-z]$/)
            .filter(name => !/\.\.|\/\/|\/\.|\.\//.test(name)),
          fc.uint8Array({ maxLength: 2000 }),
        ),
        files => {
          const wanted = new Map(Object.entries(files))
          const got = unpack(pack(wanted), LIMITS)
          expect([...got].map(([name, content]) => [name, [...content]]).sort()).toEqual(
            [...wanted].map(([name, content]) => [name, [...content]]).sort(),
          )
        },
      ),
      { numRuns: 200 },
    )
  })

  it('make the same bytes whatever the order of the files', () => {
    expect(packed({ a: '1', b: '2' })).toEqual(packed({ b: '2', a: '1' }))
  })

  it('make an archive that tar reads', () => {
    const dir = mkdtempSync(join(tmpdir(), 'archive-'))
    try {
      writeFileSync(join(dir, 'a.tar.gz'), packed({ 'x/y.txt': 'hello', big: 'z'.repeat(200_000) }))
      execFileSync('tar', ['xzf', 'a.tar.gz'], { cwd: dir })
      expect(readFileSync(join(dir, 'x/y.txt'), 'utf8')).toBe('hello')
      expect(readFileSync(join(dir, 'big'), 'utf8')).toHaveLength(200_000)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('read a name of more than 100 bytes, which tar splits in two', () => {
    const dir = mkdtempSync(join(tmpdir(), 'archive-'))
    const name = `${'d'.repeat(80)}/${'f'.repeat(80)}`
    try {
      mkdirSync(join(dir, 'd'.repeat(80)))
      writeFileSync(join(dir, name), 'hello')
      execFileSync('tar', ['--format=ustar', '-czf', 'a.tar.gz', name], { cwd: dir })
      expect([...unpack(readFileSync(join(dir, 'a.tar.gz')), LIMITS).keys()]).toEqual([name])
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  it('read what tar makes', () => {
    const dir = mkdtempSync(join(tmpdir(), 'archive-'))
    try {
      writeFileSync(join(dir, 'a.txt'), 'hello')
      execFileSync('tar', ['--format=ustar', '-czf', 'a.tar.gz', './a.txt'], { cwd: dir })
      expect([...unpack(readFileSync(join(dir, 'a.tar.gz')), LIMITS).keys()]).toEqual(['a.txt'])
    } finally {
      rmSync(dir, { recursive: true })
    }
  })
})

describe('unpack refuses', () => {
  it('what is not a gzip file', () => {
    expect(() => unpack(Buffer.from('PK\x03\x04'), LIMITS)).toThrow('not a gzip file')
    expect(() => unpack(Buffer.alloc(0), LIMITS)).toThrow('not a gzip file')
    // each byte of the magic number counts
    expect(() => unpack(Buffer.from([0x1f, 0x8c]), LIMITS)).toThrow('not a gzip file')
    expect(() => unpack(Buffer.from([0x1e, 0x8b]), LIMITS)).toThrow('not a gzip file')
  })

  it('more compressed bytes than allowed', () => {
    expect(() =>
      unpack(packed({ a: 'x'.repeat(5000) }), { maxCompressedBytes: 1000, maxBytes: 10_000 }),
    ).toThrow('more than the limit of 1000')
    const archive = packed({ a: 'x' })
    expect(unpack(archive, { ...LIMITS, maxCompressedBytes: archive.byteLength }).size).toBe(1)
  })

  it('a bomb before it is unpacked', () => {
    expect(() => unpack(gzipSync(Buffer.alloc(50_000_000)), LIMITS)).toThrow(
      'the unpacked archive has more than 1000000 bytes',
    )
  })

  it('a truncated archive', () => {
    const whole = packed({ a: 'x'.repeat(1500), b: 'y' })
    for (let length = 0; length < whole.length; length += 97) {
      expect(() => unpack(whole.subarray(0, length), LIMITS)).toThrow(/truncated|not a gzip file|damaged/)
    }
    const tar = gunzipSync(whole)
    expect(() => unpack(gzipSync(tar.subarray(0, 1024)), LIMITS)).toThrow('truncated')
  })

  it('a damaged byte', () => {
    const archive = Buffer.from(packed({ a: 'x'.repeat(1500) }))
    archive[700]! ^= 1
    expect(() => unpack(archive, LIMITS)).toThrow('damaged')
  })

  it('more entries than it may hold', () => {
    const tar = gunzipSync(packed({ a: '' }))
    // type 5: folders, which have no content
    const folder = gunzipSync(withTar(packed({ a: '' }), one => one.write('5', 156))).subarray(0, 512)
    const folders = (count: number) =>
      gzipSync(Buffer.concat([...Array<Buffer>(count).fill(folder), tar.subarray(512)]))
    const limits = { ...LIMITS, maxBytes: 10_000_000 }
    expect(unpack(folders(10_000), limits).size).toBe(0)
    expect(() => unpack(folders(10_001), limits)).toThrow('more than 10000 entries')
  })

  it('a header whose checksum is wrong', () => {
    const tar = gunzipSync(packed({ a: 'x' }))
    tar[0] = 'b'.charCodeAt(0)
    expect(() => unpack(gzipSync(tar), LIMITS)).toThrow('checksum')
  })

  it.each(['../up', 'x/../../up', 'x/..', 'x\\..\\y', './../up'])('the name %s', name => {
    const archive = withTar(packed({ aaaaaaaaaaaaaaaaaaaa: 'x' }), tar => {
      tar.fill(0, 0, 100)
      tar.write(name, 0)
    })
    expect(() => unpack(archive, LIMITS)).toThrow('as a segment, a backslash or a NUL character')
  })

  it.each([
    ['a hard link', '1'],
    ['a symbolic link', '2'],
    ['a device', '3'],
    ['an extended header', 'x'],
    ['a long name', 'L'],
  ])('%s', (_, type) => {
    const archive = withTar(packed({ a: 'x' }), tar => tar.write(type, 156))
    expect(() => unpack(archive, LIMITS)).toThrow('not a regular file')
  })

  it('a name that comes twice', () => {
    const tar = gunzipSync(packed({ a: 'x' })).subarray(0, 1024)
    expect(() => unpack(gzipSync(Buffer.concat([tar, tar, Buffer.alloc(1024)])), LIMITS)).toThrow('"a" twice')
  })

  it('a size that is none', () => {
    for (const size of ['-0000000001\0', '0x000000010\0', '99999999999\0']) {
      const archive = withTar(packed({ a: 'x' }), tar => tar.write(size, 124))
      expect(() => unpack(archive, LIMITS)).toThrow('the header of an entry contains an invalid number')
    }
  })

  it('a size beyond the end', () => {
    const archive = withTar(packed({ a: 'x' }), tar => tar.write('77777777777\0', 124))
    expect(() => unpack(archive, LIMITS)).toThrow('truncated within "a"')
  })
})

describe('pack refuses', () => {
  it('a name that no header holds', () => {
    expect(() => packed({ ['x'.repeat(101)]: '' })).toThrow(
      'is longer than 100 bytes, the limit of a tar header',
    )
  })
})
