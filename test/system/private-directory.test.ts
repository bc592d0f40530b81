import { chmodSync, chownSync, closeSync, mkdirSync, openSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { findOpenPart } from '../../src/system/files/private-directory.ts'
import { makeEmptyDirectory } from '../support/empty-directory.ts'
import { perTest } from '../support/lifetime.ts'

/** Only root can change owners. */
const self = process.getuid?.() ?? 0
const asRoot = self === 0 ? it : it.skip
const user = self === 0 ? 54_321 : self
const eve = 1234

describe('a file of root that another user reads', () => {
  const directory = perTest(makeEmptyDirectory)
  let key: string
  beforeEach(() => {
    key = make('secrets/key')
  })

  const at = (name: string) => join(directory.path, name)
  function make(name: string): string {
    mkdirSync(at(`${name}/..`), { recursive: true })
    writeFileSync(at(name), 'key')
    return at(name)
  }
  const chown = (path: string, uid: number, gid = uid) => chownSync(path, uid, gid)
  const find = (path: string, owner?: number) => findOpenPart(path, owner, user)?.path

  asRoot('is accepted', () => {
    chmodSync(key, 0o644)
    expect(find(key)).to.equal(undefined)
    chown(key, user)
    chown(at('secrets'), user)
    // The group of the user.
    chmodSync(at('secrets'), 0o775)
    expect(find(key)).to.equal(undefined)
  })

  asRoot('is accepted where Kubernetes mounts it: behind links below a sticky directory', () => {
    make('secrets/..2026/key')
    symlinkSync('..2026', at('secrets/..data'))
    symlinkSync('..data/key', at('secrets/link'))
    chmodSync(at('secrets'), 0o1777)
    expect(find(at('secrets/link'))).to.equal(undefined)
    chown(at('secrets/..2026/key'), eve)
    expect(find(at('secrets/link'))).to.equal(at('secrets/..data/key'))
  })

  const faults: [title: string, part: string, mode: number, uid?: number, gid?: number][] = [
    ['it belongs to another user', 'secrets/key', 0o600, eve],
    ['its group can write to it', 'secrets/key', 0o620],
    ['its directory belongs to another user', 'secrets', 0o700, eve],
    ['others can write to its directory', 'secrets', 0o777],
    ['others can write to a directory above', '.', 0o777],
    ['another group can write to its directory', 'secrets', 0o770, 0, eve],
  ]
  for (const [title, part, mode, uid, gid] of faults) {
    const test = uid === undefined ? it : asRoot
    test(`is refused if ${title}, also behind a link`, () => {
      if (uid !== undefined) chown(at(part), uid, gid)
      chmodSync(at(part), mode)
      symlinkSync(key, at('link'))
      const fault = part === '.' ? directory.path : at(part)
      for (const path of [key, at('link')]) expect(find(path)).to.equal(fault)
    })
  }

  asRoot('may belong to one other user that is named', () => {
    for (const path of [key, at('secrets'), directory.path]) chown(path, eve)
    expect(find(key)).to.equal(directory.path)
    expect(find(key, eve)).to.equal(undefined)
  })

  asRoot('is accepted through a descriptor, because this process has opened it', () => {
    const descriptor = openSync(key, 'r')
    chown(key, eve)
    expect(find(`/dev/fd/${descriptor}`)).to.equal(process.platform === 'linux' ? undefined : key)
    chmodSync(key, 0o666)
    expect(find(`/dev/fd/${descriptor}`)).not.to.equal(undefined)
    closeSync(descriptor)
  })
})
