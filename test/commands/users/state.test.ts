import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { hashOfField } from '../../../src/contract/managed-fields.ts'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { UsersState } from '../../../src/users/state/users-state.ts'
import { hurriedClock } from '../../client/capture.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { perTest } from '../../support/lifetime.ts'
import { type HostOptions, type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { type Behavior, failing, json, startScriptedServer } from '../../support/scripted-server.ts'
import { printedBy, serveUsers } from '../../users/users-run.ts'

const stateName = 'users.state.json'
const [ada, bob, eve] = ['ada', 'bob', 'eve'].map((name) => `${name}@example.com`) as [string, string, string]

/** Call it inside a describe. As `serveUsers`, with a state file. */
function serveState(...given: Parameters<typeof serveUsers>) {
  const home = serveUsers(...given)
  return {
    ...home,
    exists: (name = stateName) => existsSync(home.path(name)),
    /** Writes a state file. */
    writeState(serial: number, users: readonly object[], name = stateName): void {
      const header = { format: 'chatctl-users-state', v: 1, service: `${home.server.url}/`, serial }
      home.write(name, JSON.stringify({ ...header, users }))
    },
    readState: (name = stateName) => JSON.parse(home.read(name)),
    withStdin: (stdin: string, ...words: string[]) => home.chatctl(['users', ...words], { stdin }),
  }
}

describe('a state file of users on the command line', () => {
  const { sandbox, server, users, entries, exists, writeState, withStdin } = serveState()
  const add = (...emails: string[]) =>
    emails.map((email) => server.add({ email })) as [string, string, string]
  const adopt = (...args: string[]) => users('adopt', ...args)
  const sendsNothing = () => {
    server.onRequest = () => expect.fail('a request was sent')
  }

  describe('users adopt', () => {
    it('adds users to a new state file, with the email as the service has it', async () => {
      const ids = add('Ada@example.com', bob)
      const run = expectSuccess(await adopt(`${ada}=${ids[0]}`, `${bob}=${ids[1]}`, '--json'))
      const adopted = ['Ada@example.com', bob].map((email, index) => ({ email, id: ids[index] }))
      expect(printedBy(run)).to.deep.equal(adopted.map((user) => ({ ...user, status: 'adopted' })))
      expect(entries()).to.deep.equal(adopted.map((user) => ({ ...user, hashes: {} })))
    })

    it('adds users with a warning if the ledger cannot be written, because the file is then newer', async () => {
      const [id] = add(ada)
      mkdirSync(`${Ledger.of(new Directories(sandbox.env), server.url).path}.lock`, { recursive: true })
      const run = expectSuccess(await adopt(`${ada}=${id}`))
      expect(run.stdout).to.equal(`${ada}\t${id}\tadopted\t\n`)
      expect(run.stderr).to.contain('Cannot write the ledger')
      expect(entries()).to.have.lengthOf(1)
    })

    it('says that the email is not checked if the response has no text as the email', async () => {
      for (const body of [{ id: '7' }, { id: 7, email: 42 }, { id: '7', email: '' }]) {
        await server.serve(json(200, body))
        const run = expectSuccess(await adopt(`${ada}=7`))
        expect(run.stderr).to.contain(`so ${ada} is not checked`)
        expect(entries()).to.deep.equal([{ email: ada, id: '7', hashes: {} }])
        expectSuccess(await users('state', 'forget', ada))
      }
    })

    it('exits 7 if the service responds with a user that has another id', async () => {
      await server.serve(json(200, { id: 'usr_1', email: ada }))
      const words = 'The service responds with user usr_1 to the id me'
      expectFailure(await adopt(`${ada}=me`), 7, words, `${ada}=usr_1`)
      expect(exists()).to.equal(false)
    })

    it('resolves a creation whose outcome is unknown', async () => {
      const [id] = add(ada)
      writeState(3, [{ email: ada, creation: 'unknown', hashes: {} }])
      expectSuccess(await adopt(`${ada}=${id}`))
      expect(entries()).to.deep.equal([{ email: ada, id, hashes: {} }])
    })

    it('moves an id to another email with its hashes, and says so', async () => {
      const [id] = add(ada)
      const hashes = { name: 'AAAAAAAAAAA' }
      writeState(3, [{ email: 'old@example.com', id, hashes }])
      const run = await adopt(`${ada}=${id}`)
      expect(run.stdout).to.equal(`${ada}\t${id}\tmoved\told@example.com\n`)
      const words = `users.state.json had user ${id} with the email old@example.com; it is now`
      expect(run.stderr).to.contain(words)
      expect(entries()).to.deep.equal([{ email: ada, id, hashes }])
    })

    it('replaces the id of an email without its hashes, and says so', async () => {
      const [id] = add(ada)
      writeState(3, [{ email: ada, id: 'usr_old', hashes: { name: 'AAAAAAAAAAA' } }])
      const shown = (await adopt(`${ada}=${id}`)).stderr
      expect(shown).to.contain(`users.state.json had ${ada} with the id usr_old; it is now ${id}`)
      expect(entries()).to.deep.equal([{ email: ada, id, hashes: {} }])
    })

    it('exits 7 if the service reports another email, and 6 if it has no such user', async () => {
      const [id] = add(ada)
      expectFailure(await adopt(`${bob}=${id}`), 7, `has the email ${ada}, not ${bob}`)
      expectFailure(await adopt(`${bob}=usr_none`), 6)
      expect(exists()).to.equal(false)
    })

    it('adopts the users from stdin, and exits 9 if some cannot be adopted', async () => {
      const ids = add(ada, bob, eve)
      const lines = `${ada}=${ids[0]}\n${bob}=${ids[2]}\n${eve}=${ids[2]}\n`
      const run = await withStdin(lines, 'adopt', '-', '--concurrency', '2', '-o', 'csv')
      expect(run.exitCode).to.equal(9)
      expect(run.stdout).to.equal(
        `email,id,status,previous\n${ada},${ids[0]},adopted,\n${eve},${ids[2]},adopted,\n`,
      )
      expect(run.stderr).to.contain(`Cannot adopt ${bob}: User`)
      expect(run.stderr).to.contain('1 of 3 users could not be adopted')
      expect(entries()).to.have.length(2)
    })

    it('names the line of stdin that is not EMAIL=ID or a known email, and keeps the users before it', async () => {
      const [id] = add(ada)
      const run = await withStdin(`${ada}=${id}\n${bob}\n`, 'adopt', '-')
      expect(run.exitCode).to.equal(2)
      expect(run.stderr).to.contain(`line 2 of stdin: This machine knows no user with the email ${bob}`)
      expect(entries()).to.have.length(1)
      const other = await withStdin(`${id}\n`, 'adopt', '-')
      expectFailure(other, 2, `line 1 of stdin: "${id}" is not EMAIL=ID`)
    })

    it('sends nothing for an argument that is not EMAIL=ID, or an invalid id', async () => {
      sendsNothing()
      for (const word of ['ada', `${ada}=`, '=usr_1', `${ada}=..`]) expectFailure(await adopt(word), 2)
      const unknown = `This machine knows no user with the email ${ada}`
      expectFailure(await adopt(ada), 2, unknown, `chatctl users adopt ${ada}=ID`)
    })

    it('only reads with --dry-run', async () => {
      const [id] = add(ada)
      const run = await adopt(`${ada}=${id}`, '--dry-run')
      expect(run.stdout).to.equal(`${ada}\t${id}\tadopted\t\n`)
      expect(run.stderr).to.equal('Dry run: users.state.json was not changed.\n')
      expect(exists()).to.equal(false)
    })
  })

  describe('users get --state', () => {
    const get = (stdin: string, ...words: string[]) => withStdin(stdin, 'get', '--state', stateName, ...words)
    const adopted = async () => {
      const [first, second] = add(ada, bob)
      await adopt(`${ada}=${first}`, `${bob}=${second}`)
      return [first, second]
    }

    it('shows users by email without case', async () => {
      const [first, second] = await adopted()
      expect(printedBy(await get('', 'ADA@example.com', '--json')).id).to.equal(first)
      const found = await get(`${ada}\n`, bob, '-', '--fields', 'id')
      expect(found.stdout).to.equal(`${second}\n${first}\n`)
    })

    it('names a similar email, and how to add the user, if the email is not in the file', async () => {
      sendsNothing()
      const unknown = { email: eve, creation: 'unknown', hashes: {} }
      writeState(3, [{ email: ada, id: 'usr_1', hashes: {} }, unknown])
      const words = 'users.state.json has no user with the email adda@example.com'
      const command = 'chatctl users adopt adda@example.com=ID --state users.state.json'
      expectFailure(await get('', 'adda@example.com'), 2, words, `Did you mean ${ada}?`, command)
      expectFailure(await get('', eve), 2, `The id of ${eve} is unknown`)
      const other = await get('', 'christopher@other.example')
      expectFailure(other, 2)
      expect(other.stderr).not.to.contain('Did you mean')
    })

    it('shows the others if one of several emails is not in the file', async () => {
      const ids = await adopted()
      for (const words of [[ada, eve, bob], ['-']]) {
        const run = await get(`${ada}\n${eve}\n${bob}\n`, '--fields', 'id', ...words)
        expect(run).to.include({ exitCode: 9, stdout: ids.map((id) => `${id}\n`).join('') })
        expect(run.stderr).to.contain(`users.state.json has no user with the email ${eve}`)
        expect(run.stderr).to.contain('1 of 3 users could not be read')
      }
    })

    it('fails if the file does not exist', async () => {
      for (const emails of [[ada], [ada, bob]]) {
        const run = await users('get', '--state', 'none.json', ...emails)
        expectFailure(run, 2, 'The state file none.json does not exist')
      }
    })
  })
})

describe('users state', function () {
  this.timeout(30_000)
  const home = serveState({ idIn: ['nowhere'], allowsDuplicates: true })
  const { server, users, writeState, readState, exists } = home
  const adaEntry = { email: ada, id: 'usr_1', hashes: { name: 'AAAAAAAAAAA', role: 'BBBBBBBBBBB' } }
  const bobEntry = { email: bob, id: 'usr_2', hashes: {} }
  const forgotten = { email: ada, creation: 'forgotten', forgotten: 'usr_1', hashes: {} }
  const forget = (...args: string[]) => users('state', 'forget', ...args)

  describe('forget', () => {
    const creates = () => server.report().creates.get(ada)?.met.length

    it('removes entries, and shows their IDs', async () => {
      writeState(3, [adaEntry, bobEntry])
      const run = await home.withStdin(`${bob}\n`, 'state', 'forget', 'ADA@example.com', '-', '--json')
      const known = { 'ADA@example.com': 'usr_1', [bob]: 'usr_2' }
      const listed = Object.entries(known).map(([email, id]) => ({ email, id }))
      expect(printedBy(expectSuccess(run))).to.deep.equal(listed)
      const left = listed.map(({ email, id }) => ({ ...forgotten, email, forgotten: id }))
      expect(readState()).to.deep.include({ serial: 4, users: left })
      expect(server.report().users.size).to.equal(0)
    })

    it('keeps a user forgotten who was forgotten before, but not one who was created since', async () => {
      for (const state of [{ id: 'usr_1' }, { creation: 'forgotten', id: undefined }]) {
        writeState(3, [{ email: ada, ...state, hashes: {} }])
        await forget(ada)
        const before = readState().users
        const again = printedBy(await forget(ada, '--json'))
        expect(again[0]).to.deep.equal({ email: ada, id: state.id ?? null })
        expect(readState().users).to.deep.equal(before)
      }
      server.faults.set('POST /v1/users', json(201, { id: 'usr_9', email: ada }))
      await users('create', '--email', ada, '--no-password')
      await forget(ada)
      expect(readState().users[0]).to.deep.include({ creation: 'forgotten', forgotten: 'usr_9' })
    })

    it('lets the next apply create a user who was created without an ID', async () => {
      home.write('users.csv', `email\n${ada}\n`)
      const apply = () => users('apply', 'users.csv', '--yes', '--no-password', '--retry-unknown')
      const command = `chatctl users state forget ${ada} --state users.state.json`
      for (const run of [await apply(), await apply()]) {
        expect(run.exitCode).to.equal(9)
        expect(run.stderr).to.contain(`chatctl users adopt ${ada}=ID`).and.contain(command)
      }
      expect(creates()).to.equal(1)
      const dry = await forget(ada, '--dry-run')
      expect(dry.stderr).to.contain('Dry run: users.state.json was not changed.')
      expect(readState().users).to.deep.include({ email: ada, creation: 'nameless', hashes: {} })
      expect((await forget(ada)).stderr).to.contain('users apply creates')
      expect(printedBy(await users('list', '--state', stateName, '--json'))).to.deep.equal([])
      expect((await users('diff', 'users.csv')).stdout).to.contain(`+ create ${ada}`)
      await apply()
      expect(creates()).to.equal(2)
    })

    it('changes nothing if one of the emails is not known', async () => {
      writeState(3, [adaEntry])
      const unknown = 'users.state.json has no user with the email adda@example.com'
      expectFailure(await forget(ada, 'adda@example.com'), 2, unknown, `${ada}?`)
      expect(readState().users).to.have.length(1)
      expectFailure(await forget(ada, '--state', 'none.json'), 2, 'none.json')
      expect(exists('none.json')).to.equal(false)
    })
  })

  describe('merge', () => {
    const merge = (...flags: string[]) => users('state', 'merge', stateName, 'branch.json', ...flags)
    const writeBranch = (serial: number, ...entries: object[]) => writeState(serial, entries, 'branch.json')

    it('adds the users of the second file to the first, and keeps only hashes on which both agree', async () => {
      const lost = { email: eve, creation: 'unknown', hashes: {} }
      writeState(3, [{ ...adaEntry, hashes: { ...adaEntry.hashes, role: 'CCCCCCCCCCC' } }, lost])
      writeBranch(7, { ...adaEntry, email: 'Ada@example.com' }, bobEntry, { ...lost, creation: 'nameless' })
      const theirs = readState('branch.json')
      const changes = [
        { email: ada, id: 'usr_1', status: 'changed' },
        { email: bob, id: 'usr_2', status: 'added' },
        { email: eve, id: null, status: 'changed' },
      ].map((change) => ({ ...change, other: null }))
      expect(printedBy(await merge('--dry-run', '--json'))).to.deep.equal(changes)
      expect(readState().serial).to.equal(3)
      expect(printedBy(expectSuccess(await merge('--json')))).to.deep.equal(changes)
      const both = { ...adaEntry, hashes: { name: 'AAAAAAAAAAA' } }
      const merged = [both, bobEntry, { ...lost, creation: 'nameless' }]
      expect(readState()).to.deep.include({ serial: 8, users: merged })
      expect(readState('branch.json')).to.deep.equal(theirs)
      expect((await merge()).stdout).to.equal('')
      expect(readState().serial).to.equal(8)
    })

    it('makes the file newer than one with the same users, for which a plan may be', async () => {
      writeState(3, [adaEntry])
      writeBranch(7, adaEntry)
      expectSuccess(await merge('--dry-run'))
      expect(readState().serial).to.equal(3)
      expectSuccess(await merge())
      expect(readState()).to.deep.include({ serial: 8, users: [adaEntry] })
    })

    it('keeps a user forgotten who was not created again', async () => {
      writeState(3, [adaEntry, bobEntry])
      await forget(ada, bob)
      const [first] = readState().users
      const again = { ...bobEntry, id: 'usr_9' }
      writeBranch(7, adaEntry, again)
      expectSuccess(await merge())
      expect(readState().users).to.deep.equal([first, again])
    })

    /** Merges both ways. */
    async function expectMerged(one: object, other: object, expected: object): Promise<void> {
      for (const [ours = {}, theirs = {}] of [
        [one, other],
        [other, one],
      ]) {
        writeState(1, [ours])
        writeBranch(1, theirs)
        expectSuccess(await merge())
        expect(readState().users).to.deep.equal([expected])
      }
    }

    it('keeps a user forgotten with an ID, unless a creation has followed', async () => {
      const without = { email: ada, hashes: {} }
      await expectMerged(forgotten, { ...without, creation: 'forgotten' }, forgotten)
      for (const creation of ['unknown', 'nameless']) {
        await expectMerged(forgotten, { ...without, creation }, forgotten)
        const later = { ...forgotten, creation }
        await expectMerged(forgotten, later, later)
      }
    })

    it('keeps the state of a user that says more', async () => {
      const creations = ['forgotten', 'unknown', 'nameless'].map((creation) => ({ creation }))
      const states = [...creations, { id: 'usr_1' }].map((state) => ({ email: ada, ...state, hashes: {} }))
      for (const [index, more] of states.entries())
        for (const less of states.slice(0, index)) await expectMerged(more, less, more)
    })

    it('merges nothing and exits 7 if a user has two IDs, or an ID two emails', async () => {
      writeState(3, [adaEntry, { ...bobEntry, email: 'robert@example.com' }])
      writeBranch(3, { ...adaEntry, id: 'usr_9' }, bobEntry, { email: eve, id: 'usr_5', hashes: {} })
      const before = readState()
      const run = await merge('--json')
      expect(run.exitCode).to.equal(7)
      expect(run.stderr).to.contain('Nothing was merged: 2 users of branch.json have another ID or email in')
      expect(printedBy(run)).to.deep.equal([
        { email: ada, id: 'usr_1', status: 'conflict', other: 'usr_9' },
        { email: bob, id: 'usr_2', status: 'conflict', other: 'robert@example.com' },
      ])
      expect(readState()).to.deep.equal(before)
    })

    it('refuses a file that does not exist, and one of another service', async () => {
      writeState(3, [adaEntry])
      expectFailure(await merge(), 2, 'The state file branch.json does not exist')
      writeBranch(3, bobEntry)
      home.write('branch.json', home.read('branch.json').replace('127.0.0.1', 'chat'))
      expectFailure(await merge(), 7, 'branch.json is for')
    })
  })
})

describe('users import --state', () => {
  const home = serveState()
  const { server, entries, exists, idOf } = home
  const importFile = (text: string, ...flags: string[]) => {
    home.write('users.csv', text)
    return home.users('import', 'users.csv', '--yes', '--state', stateName, ...flags)
  }
  const changeState = async (change: (state: UsersState) => void) => {
    const options = { service: `${server.url}/`, access: 'write' } as const
    const state = await UsersState.open(home.path(stateName), options)
    change(state)
    await state.close()
  }
  const emailOf = (index: number) => `user-${index}@example.com`
  const rows = (count: number) =>
    `email,password\n${Array.from({ length: count }, (_, index) => `${emailOf(index)},secret-word\n`).join('')}`
  const hashesOf = (values: object) =>
    Object.fromEntries(Object.entries(values).map(([path, value]) => [path, hashOfField(path, value)]))
  const ids = () => entries().map(({ email, id }) => [email, id])
  const sendsNothing = () => {
    server.onRequest = () => expect.fail('a request was sent')
  }

  it('adds a user that another command created, with hashes of the fields that the import sent', async () => {
    await home.users('create', '--email', ada, '--no-password')
    expectSuccess(await importFile(`email,name,role\n${ada},Ada,editor\n`))
    const hashes = hashesOf({ role: 'editor' })
    expect(entries()).to.deep.equal([{ email: ada, id: idOf(), hashes }])
  })

  it('adds the users that it created, with hashes of the fields that it sent', async () => {
    const header = 'email,name,password,role,permissions,metadata.company,settings.theme'
    const run = await importFile(`${header}\n${ada},Ada,secret-word,editor,read:chat,Acme,dark\n`)
    expect(expectSuccess(run).stderr).to.contain('users.state.json has 1 user of this file.')
    const hashes = hashesOf({
      ...{ name: 'Ada', 'metadata.company': 'Acme', 'settings.theme': 'dark' },
      ...{ role: 'editor', permissions: ['read:chat'] },
    })
    expect(entries()).to.deep.equal([{ email: ada, id: idOf(), hashes }])
    expect(home.read(stateName)).not.to.contain('secret-word')
  })

  it('adds all rows of an import that was killed and resumed', async () => {
    home.write('users.csv', rows(3))
    await home.users('import', 'users.csv', '--yes')
    expect(exists()).to.equal(false)
    expectSuccess(await importFile(rows(5)))
    expect(ids()).to.deep.equal([0, 1, 2, 3, 4].map((index) => [emailOf(index), idOf(emailOf(index))]))
  })

  it('records that the outcome of a create is unknown', async () => {
    server.fates = { lost: 1 }
    expect((await importFile(rows(2))).exitCode).to.equal(9)
    const unknown = [0, 1].map((index) => ({ email: emailOf(index), creation: 'unknown', hashes: {} }))
    expect(entries()).to.deep.equal(unknown)
  })

  it('skips rows that the service refused', async () => {
    await home.serve({ rejects: (email) => email.startsWith('user-1@') })
    expect((await importFile(rows(3))).exitCode).to.equal(9)
    expect(ids()).to.deep.equal([0, 2].map((index) => [emailOf(index), idOf(emailOf(index))]))
  })

  it('sends a field again that another machine has changed since an earlier run', async () => {
    const text = `email,name,password,role\n${ada},Ada,secret-word,editor\n`
    await importFile(text)
    const [entry] = entries()
    const hashes = { ...entry?.hashes, ...hashesOf({ role: 'admin' }) }
    await changeState((state) => state.note({ email: ada, id: entry?.id, hashes }))
    expectSuccess(await importFile(`${text}${bob},Bob,secret-word,editor\n`))
    const sent = ['Ada', 'Bob'].map((name) => hashesOf({ name, role: 'editor' }))
    expect(entries().map((one) => one.hashes)).to.deep.equal(sent)
  })

  it('keeps the id of a user that was created again since an earlier run', async () => {
    await importFile(rows(1))
    await changeState((state) => state.note({ email: emailOf(0), id: 'usr_new', hashes: {} }))
    expectSuccess(await importFile(rows(2)))
    expect(entries().map(({ id }) => id)).to.deep.equal(['usr_new', idOf(emailOf(1))])
  })

  it('counts the rows that it cannot add', async () => {
    const [first, second] = [ada, bob].map((email) => server.add({ email }))
    await importFile(`id,email,role\n${first},${ada},admin\n`)
    const shifted = `id,email,role\n${first},other@example.com,admin\n${second},,admin\n`
    expect((await importFile(shifted)).stderr).to.contain(`has the email "${ada}" on the service`)
    const done = await importFile(shifted, '--skip-invalid')
    expect(done.stderr).to.contain('Not added to users.state.json: 1 row without an email')
    expect(entries()).to.deep.equal([{ email: ada, id: first, hashes: hashesOf({ role: 'admin' }) }])
  })

  it('forgets the hash of a field whose change has an unknown outcome', async () => {
    const id = server.add({ email: ada })
    const names = () => Object.keys(entries()[0]?.hashes ?? {})
    await importFile(`id,email,name,role\n${id},${ada},Ada,editor\n`)
    expect(names()).to.deep.equal(['name', 'role'])
    server.fates = { lost: 1 }
    expect((await importFile(`id,email,name\n${id},${ada},Augusta\n`)).exitCode).to.equal(9)
    expect(names()).to.deep.equal(['role'])
  })

  it('sends nothing if the state file is invalid or locked, also with --dry-run', async () => {
    sendsNothing()
    const options = { service: `${server.url}/`, access: 'write' } as const
    const state = await UsersState.open(home.path(stateName), options)
    expectFailure(await importFile(rows(1)), 7, 'Another chatctl process is using users.state.json')
    await state.close()
    home.write(stateName, '{}')
    expectFailure(await importFile(rows(1)), 2, 'users.state.json is not a state file of users')
    expectFailure(await importFile(rows(1), '--dry-run'), 2)
  })

  it('refuses one file for the results and the state, and says nothing about the state then', async () => {
    sendsNothing()
    const same = ['--state', 'users-1.csv', '--results', './users-1.csv']
    const words = 'Cannot write the results to ./users-1.csv: it is the state file'
    home.write('users.csv', 'email\nada@example.com\n')
    const run = await home.users('import', 'users.csv', '--yes', '--generate-passwords', ...same)
    expectFailure(run, 2, words)
    expect(run.stderr).not.to.contain('of this file')
    expectFailure(await home.users('apply', 'users.csv', '--yes', ...same), 2, words)
    expectFailure(await importFile(rows(1), '--results', 'results.txt'), 2)
  })

  it('writes no state file with --dry-run', async () => {
    expectSuccess(await importFile(rows(1), '--dry-run'))
    expect(exists()).to.equal(false)
  })
})

describe('users diff', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(startScriptedServer)

  const ada = { id: 'usr_ada', email: 'ada@example.com', name: 'Ada' }
  const about = { id: 'usr_bob', email: 'bob@example.com' }
  const bob = { ...about, name: 'Bob', metadata: { team: 'a', api_key: 'old-one' } }

  /** Responds with users by ID. The requests are listed as `GET usr_ada`. */
  const requests: string[] = []
  async function serve(users: Record<string, Behavior>): Promise<void> {
    requests.length = 0
    await server.serve({
      choose: ({ method, path }) => {
        const id = path.split('/').at(-1) ?? ''
        requests.push(`${method} ${id}`)
        return users[id] ?? failing(404, 'not_found', 'There is no such user')
      },
    })
  }

  const write = (name: string, text: string) => writeFileSync(join(sandbox.home, name), text)
  /** Writes a file with these users. */
  const writeUsers = (...names: ('ada' | 'bob' | 'cid')[]) =>
    write('users.csv', `email,name\n${names.map((name) => `${name}@example.com,${nameOf[name]}\n`).join('')}`)
  const nameOf = { ada: 'Ada', bob: 'Bob', cid: 'Cid' }

  /** A state file with users of whom these values were sent, and when they were read. */
  function writeState(
    users: Record<string, { checkedAt?: string; [path: string]: string | undefined }>,
  ): void {
    const lines = Object.entries(users).map(([name, { checkedAt, ...sent }]) => {
      const hashes = Object.fromEntries(
        Object.entries(sent).map(([path, to]) => [path, hashOfField(path, to)]),
      )
      return JSON.stringify({ email: `${name}@example.com`, id: `usr_${name}`, hashes, checkedAt })
    })
    const head = `{"format":"chatctl-users-state","v":1,"service":"${server.url}/","serial":4,"users":[\n`
    write('users.state.json', `${head}${lines.join(',\n')}\n]}\n`)
  }

  function diff(args: readonly string[], options: HostOptions = {}): Promise<Run> {
    return runChatctl(sandbox, ['users', 'diff', ...args], { cwd: sandbox.home, service: server, ...options })
  }

  const file = JSON.stringify([
    { email: 'ada@example.com', name: 'Ada', role: 'admin' },
    { email: 'bob@example.com', name: 'Robert', metadata: { team: 'b', api_key: 'new-one' } },
    { email: 'new@example.com', name: 'New' },
  ])

  it('does not take a response without any field of a user for a user without values', async () => {
    await serve({ usr_ada: json(200, { result: ada }) })
    writeUsers('ada')
    writeState({ ada: {} })
    const run = await diff(['users.csv'])
    expect(run.exitCode, run.stdout).to.equal(9)
    expect(run.stdout + run.stderr).to.contain('contains no field of a user')
  })

  it('shows what differs from the service, and from what was last sent', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, bob) })
    write('users.json', file)
    writeState({ ada: { role: 'admin' }, bob: { name: 'Rob', 'metadata.team': 'a' }, gone: {} })
    expect(await diff(['users.json'])).to.include({
      exitCode: 0,
      stdout: [
        '! bob@example.com',
        '    name              "Bob"        → "Robert" (drifted)',
        '    metadata.team     "a"          → "b"',
        '    metadata.api_key  "[redacted]" → "[redacted]"',
        '+ create new@example.com  name "New"',
        '- gone@example.com unmanaged: in the state file, but not in the files',
        '',
        '1 to create, 1 to change (1 drifted), 1 unchanged, 1 unmanaged.',
        'Drifted: someone else has changed a value since chatctl sent it.',
        'Unmanaged users remain: the service offers no way to delete a user.\n',
      ].join('\n'),
    })
    expect(requests.toSorted()).to.deep.equal(['GET usr_ada', 'GET usr_bob'])
  })

  it('prints one JSON object, and exits 10 with --exit-code', async () => {
    await serve({ usr_bob: json(200, bob) })
    write('users.csv', 'email,name,role\nbob@example.com,Robert,admin\n')
    writeState({ bob: {} })
    const { exitCode, stdout } = await diff(['users.csv', '--json', '--exit-code'])
    expect(exitCode).to.equal(10)
    const { counts, ...rest } = JSON.parse(stdout)
    expect(counts).to.include({ change: 1, unchanged: 0 })
    expect(rest).to.deep.equal({
      service: `${server.url}/`,
      state: 'users.state.json',
      users: [
        {
          email: 'bob@example.com',
          id: 'usr_bob',
          action: 'change',
          changes: [
            { path: 'name', from: 'Bob', to: 'Robert' },
            { path: 'role', from: null, to: 'admin', compared_with: 'unknown' },
          ],
        },
      ],
      unmanaged: [],
    })
  })

  it('exits 10 with --exit-code if a user is missing, and 9 if one could not be read', async () => {
    await serve({ usr_ada: failing(500, 'internal', 'Broken') })
    writeUsers('ada', 'bob')
    writeState({ ada: {}, bob: {} })
    const failed = await diff(['users.csv', '--exit-code', '--retries', '0'])
    expect(failed.exitCode).to.equal(9)
    expect(failed.stderr).to.include(
      'Error: 1 of 2 known users could not be compared, so their differences are unknown',
    )
    expect(failed.stdout).to.include('! ada@example.com failed: ').and.include('! bob@example.com missing: ')

    writeUsers('bob')
    expect((await diff(['users.csv', '--exit-code'])).exitCode).to.equal(10)
  })

  it('reads no user with --no-refresh, and says so', async () => {
    await serve({})
    write('users.json', file)
    writeState({ ada: { name: 'Ada', role: 'admin' }, bob: { name: 'Bob' } })
    const { exitCode, stdout, stderr } = await diff(['users.json', '--no-refresh'])
    expect({ exitCode, requests }).to.deep.equal({ exitCode: 0, requests: [] })
    expect(stdout.split('\n').slice(0, 6)).to.deep.equal([
      '~ bob@example.com',
      '    name              not as last sent   → "Robert"',
      '    metadata.team     last value unknown → "b"',
      '    metadata.api_key  last value unknown → "[redacted]"',
      '+ create new@example.com  name "New"',
      '',
    ])
    expect(stdout).to.include('1 to create, 1 to change, 1 not read.')
    expect(stderr).to.include('no user was read')
  })

  it('reads the least recently read users with --limit-reads, and remembers when', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, { ...bob, name: 'Eve' }) })
    writeUsers('ada', 'bob')
    writeState({ ada: { name: 'Ada' }, bob: { name: 'Bob', checkedAt: '2026-01-01T00:00:00.000Z' } })
    const first = await diff(['users.csv', '--limit-reads', '1'])
    expect(first.stdout).to.equal('No changes known: 1 unchanged, 1 not read.\n')
    const second = await diff(['users.csv', '--limit-reads', '1'])
    expect(second.stdout).to.include('! bob@example.com\n    name  "Eve" → "Bob" (drifted)')
    expect(requests).to.deep.equal(['GET usr_ada', 'GET usr_bob'])
    const { serial, users } = JSON.parse(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8'))
    expect(serial).to.equal(6)
    expect(users[0].checkedAt).to.match(/^20\d\d-/)
  })

  it('shows drift that an earlier run with --limit-reads found until the user is read again', async () => {
    const users = { usr_ada: json(200, { ...ada, name: 'Eve' }), usr_bob: json(200, bob) }
    await serve(users)
    writeUsers('ada', 'bob', 'cid')
    writeState({
      ada: { name: 'Ada' },
      cid: { name: 'Cid' },
      bob: { name: 'Bob', checkedAt: '2026-01-01T00:00:00.000Z' },
    })
    const codes: (number | null)[] = []
    let last = ''
    const check = async () => {
      const { exitCode, stdout } = await diff(['users.csv', '--limit-reads', '1', '--exit-code'])
      codes.push(exitCode)
      last = stdout
    }
    for (const _ of [1, 2, 3]) await check()
    expect(codes).to.deep.equal([10, 10, 10])
    expect(last).to.include('ada@example.com').and.include('(drifted)')
    expect(last).to.include('! cid@example.com missing')
    users.usr_ada = json(200, ada)
    await check()
    expect(last).not.to.include('ada@example.com')
  })

  it('says after Ctrl-C how much was compared', async () => {
    await server.serve({
      choose: () => {
        run.interrupt()
        return json(200, ada)
      },
    })
    writeUsers('ada', 'bob')
    writeState({ ada: {}, bob: {} })
    const run = startChatctl(sandbox, ['users', 'diff', 'users.csv'], { service: server })
    const { exitCode, stdout, stderr } = await run.ended
    expect({ exitCode, stdout }).to.deep.equal({ exitCode: 130, stdout: '' })
    expect(stderr).to.include('Interrupted: 0 of 2 users were compared. Nothing was changed.')
  })

  it('writes nothing beside the files', async () => {
    await serve({ usr_ada: json(200, ada) })
    write('users.csv', 'email,name\nada@example.com,Adele\n')
    writeState({ ada: {} })
    const before = readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')
    await diff(['users.csv'])
    expect(readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')).to.equal(before)
    expect(existsSync(join(sandbox.home, 'users.state.json.lock'))).to.equal(false)
  })

  it('saves a plan that it can show without the service', async () => {
    await serve({ usr_ada: json(200, ada), usr_bob: json(200, bob) })
    write('users.json', file)
    writeState({ ada: { role: 'admin' }, bob: {} })
    const made = await diff(['users.json', '--save', 'users.plan', '--json'])
    expect(made.stderr).to.include('users apply users.plan')
    const shown = await diff(['users.plan', '--json', '--exit-code'])
    expect(shown.exitCode).to.equal(10)
    expect(JSON.parse(shown.stdout)).to.deep.equal(JSON.parse(made.stdout))
    expect(requests).to.have.length(2)
    const refused = await diff(['users.plan', '--file', 'users.json'])
    expectFailure(refused, 2, 'cannot be combined with other files')
    expectFailure(await diff(['users.json', '--save', 'users.json']), 2, 'exists and is not a plan')
  })

  it('names the state file that does not exist yet', async () => {
    await serve({})
    writeUsers('ada')
    const { stdout, stderr } = await diff(['users.csv'])
    expect(stdout).to.include('1 to create.')
    expect(stderr.replace(/\s+/g, ' ')).to.include(
      'There is no state file users.state.json yet, so every user is new that was not created from this machine. To record users who exist, run: chatctl users adopt EMAIL=ID --state users.state.json',
    )
  })

  it('reads a map in YAML from stdin with --format, within --quota', async () => {
    await serve({ usr_ada: json(200, ada) })
    writeState({ ada: {} })
    const clock = hurriedClock()
    const stdin = 'x: &x { name: Ada }\nusers:\n  - { <<: *x, email: ada@example.com }\n'
    const run = await diff(['-', '--format', 'yaml', '--quota', '1/h'], { stdin, host: { clock } })
    expect(run).to.include({ exitCode: 0, stdout: 'No changes: 1 user as in the files.\n' })
  })

  it('sends nothing if the files or the state file are invalid', async () => {
    await serve({})
    write('users.csv', 'email,name\nada@,Ada\n')
    writeState({ ada: {} })
    expectFailure(await diff(['users.csv']), 2, 'users.csv:2:1: "ada@" is not a valid email address')
    writeUsers('ada')
    const state = readFileSync(join(sandbox.home, 'users.state.json'), 'utf8')
    write('users.state.json', state.replace(`${server.url}/`, 'https://other.example'))
    expectFailure(await diff(['users.csv']), 7, 'https://other.example')
    expectFailure(await diff([]), 2, 'No file of users was given')
    expectFailure(await diff(['users.csv', 'more.csv']), 2, 'Unexpected argument more.csv')
    expect(requests).to.deep.equal([])
  })
})
