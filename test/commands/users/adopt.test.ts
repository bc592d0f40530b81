import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { Ledger } from '../../../src/ledger/ledger.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { type Run, runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, serveHandler, startScriptedServer } from '../../support/scripted-server.ts'

describe('a state file of users on the command line', () => {
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler()))

  function chatctl(args: readonly string[], stdin = ''): Promise<Run> {
    return runChatctl(sandbox, args, { service: server, stdin })
  }

  const adopt = (...args: string[]) => chatctl(['users', 'adopt', ...args])
  const statePath = () => join(sandbox.home, 'users.state.json')

  /** The users of the state file. */
  function users(): Record<string, unknown>[] {
    return JSON.parse(readFileSync(statePath(), 'utf8')).users
  }

  /** Writes a state file with these lines. */
  function write(...lines: string[]): void {
    const head = `{"format":"chatctl-users-state","v":1,"service":"${server.url}/","serial":3,"users":[`
    writeFileSync(statePath(), [head, lines.join(',\n'), ']}', ''].join('\n'))
  }

  describe('users adopt', () => {
    it('adds users to a new state file, with the email as the service has it', async () => {
      const [ada, bob] = [server.add({ email: 'Ada@example.com' }), server.add({ email: 'bob@example.com' })]
      const run = await adopt(`ada@example.com=${ada}`, `bob@example.com=${bob}`, '--json')
      expect(run.exitCode, run.stderr).to.equal(0)
      expect(JSON.parse(run.stdout)).to.deep.equal([
        { email: 'Ada@example.com', id: ada, status: 'adopted' },
        { email: 'bob@example.com', id: bob, status: 'adopted' },
      ])
      expect(users()).to.deep.equal([
        { email: 'Ada@example.com', id: ada, hashes: {} },
        { email: 'bob@example.com', id: bob, hashes: {} },
      ])
    })

    it('adds users with a warning if the ledger cannot be written, because the file is then newer', async () => {
      const id = server.add({ email: 'ada@example.com' })
      mkdirSync(`${Ledger.of(new Directories(sandbox.env), server.url).path}.lock`, { recursive: true })
      const run = await adopt(`ada@example.com=${id}`)
      expect(run, run.stderr).to.include({ exitCode: 0, stdout: `ada@example.com\t${id}\tadopted\t\n` })
      expect(run.stderr).to.contain('Cannot write the ledger')
      expect(users()).to.have.lengthOf(1)
    })

    describe('if another service responds', () => {
      const other = perTest(startScriptedServer)
      const adoptThere = async (id: string, body: object) => {
        const url = await other.serve(json(200, body))
        const env = { CHATCTL_BASE_URL: url, CHATCTL_API_KEY: 'some-key' }
        return runChatctl(sandbox, ['users', 'adopt', `ada@example.com=${id}`], { env })
      }

      it('says that the email is not checked if the response has no text as the email', async () => {
        for (const body of [{ id: '7' }, { id: 7, email: 42 }, { id: '7', email: '' }]) {
          const run = await adoptThere('7', body)
          expect(run.exitCode, run.stderr).to.equal(0)
          expect(run.stderr).to.contain('so ada@example.com is not checked')
          expect(users()).to.deep.equal([{ email: 'ada@example.com', id: '7', hashes: {} }])
          rmSync(statePath())
        }
      })

      it('exits 7 if it responds with a user that has another id', async () => {
        const run = await adoptThere('me', { id: 'usr_1', email: 'ada@example.com' })
        expectFailure(run, 7, 'The service responds with user usr_1 to the id me', 'ada@example.com=usr_1')
        expect(existsSync(statePath())).to.equal(false)
      })
    })

    it('resolves a creation whose outcome is unknown', async () => {
      const id = server.add({ email: 'ada@example.com' })
      write('{"email":"ada@example.com","creation":"unknown","hashes":{}}')
      expect((await adopt(`ada@example.com=${id}`)).exitCode).to.equal(0)
      expect(users()).to.deep.equal([{ email: 'ada@example.com', id, hashes: {} }])
    })

    it('moves an id to another email with its hashes, and says so', async () => {
      const id = server.add({ email: 'ada@example.com' })
      write(`{"email":"old@example.com","id":"${id}","hashes":{"name":"AAAAAAAAAAA"}}`)
      const run = await adopt(`ada@example.com=${id}`)
      expect(run.stdout).to.equal(`ada@example.com\t${id}\tmoved\told@example.com\n`)
      expect(run.stderr).to.contain(
        `users.state.json had user ${id} with the email old@example.com; it is now`,
      )
      expect(users()).to.deep.equal([{ email: 'ada@example.com', id, hashes: { name: 'AAAAAAAAAAA' } }])
    })

    it('replaces the id of an email without its hashes, and says so', async () => {
      const id = server.add({ email: 'ada@example.com' })
      write('{"email":"ada@example.com","id":"usr_old","hashes":{"name":"AAAAAAAAAAA"}}')
      const shown = (await adopt(`ada@example.com=${id}`)).stderr
      expect(shown).to.contain(`users.state.json had ada@example.com with the id usr_old; it is now ${id}`)
      expect(users()).to.deep.equal([{ email: 'ada@example.com', id, hashes: {} }])
    })

    it('exits 7 if the service reports another email, and 6 if it has no such user', async () => {
      const id = server.add({ email: 'ada@example.com' })
      const refused = await adopt(`bob@example.com=${id}`)
      expectFailure(refused, 7, 'has the email ada@example.com, not bob@example.com')
      expectFailure(await adopt('bob@example.com=usr_none'), 6)
      expect(existsSync(statePath())).to.equal(false)
    })

    it('adopts the users from stdin, and exits 9 if some cannot be adopted', async () => {
      const ids = ['ada', 'bob', 'eve'].map((name) => server.add({ email: `${name}@example.com` }))
      const lines = `ada@example.com=${ids[0]}\nbob@example.com=${ids[2]}\neve@example.com=${ids[2]}\n`
      const run = await chatctl(['users', 'adopt', '-', '--concurrency', '2', '-o', 'csv'], lines)
      expect(run.exitCode).to.equal(9)
      expect(run.stdout).to.equal(
        `email,id,status,previous\nada@example.com,${ids[0]},adopted,\neve@example.com,${ids[2]},adopted,\n`,
      )
      expect(run.stderr).to.contain('Cannot adopt bob@example.com: User')
      expect(run.stderr).to.contain('1 of 3 users could not be adopted')
      expect(users()).to.have.length(2)
    })

    it('names the line of stdin that is not EMAIL=ID or a known email, and keeps the users before it', async () => {
      const id = server.add({ email: 'ada@example.com' })
      const run = await chatctl(['users', 'adopt', '-'], `ada@example.com=${id}\nbob@example.com\n`)
      expect(run.exitCode).to.equal(2)
      expect(run.stderr).to.contain(
        'line 2 of stdin: This machine knows no user with the email bob@example.com',
      )
      expect(users()).to.have.length(1)
      const other = await chatctl(['users', 'adopt', '-'], `${id}\n`)
      expectFailure(other, 2, `line 1 of stdin: "${id}" is not EMAIL=ID`)
    })

    it('sends nothing for an argument that is not EMAIL=ID, or an invalid id', async () => {
      server.onRequest = () => expect.fail('a request was sent')
      for (const word of ['ada', 'ada@example.com', 'ada@example.com=', '=usr_1', 'ada@example.com=..'])
        expectFailure(await adopt(word), 2)
      const unknown = 'This machine knows no user with the email ada@example.com'
      expectFailure(await adopt('ada@example.com'), 2, unknown, 'chatctl users adopt ada@example.com=ID')
    })

    it('only reads with --dry-run', async () => {
      const id = server.add({ email: 'ada@example.com' })
      const run = await adopt(`ada@example.com=${id}`, '--dry-run')
      expect(run.stdout).to.equal(`ada@example.com\t${id}\tadopted\t\n`)
      expect(run.stderr).to.equal('Dry run: users.state.json was not changed.\n')
      expect(existsSync(statePath())).to.equal(false)
    })
  })

  describe('users get --state', () => {
    it('shows users by email without case', async () => {
      const [ada, bob] = [server.add({ email: 'ada@example.com' }), server.add({ email: 'bob@example.com' })]
      await adopt(`ada@example.com=${ada}`, `bob@example.com=${bob}`)
      const one = await chatctl(['users', 'get', '--state', 'users.state.json', 'ADA@example.com', '--json'])
      expect(JSON.parse(one.stdout).id).to.equal(ada)
      const args = ['users', 'get', '--state', 'users.state.json', 'bob@example.com', '-', '--fields', 'id']
      expect((await chatctl(args, 'ada@example.com\n')).stdout).to.equal(`${bob}\n${ada}\n`)
    })

    it('names a similar email, and how to add the user, if the email is not in the file', async () => {
      server.onRequest = () => expect.fail('a request was sent')
      write(
        '{"email":"ada@example.com","id":"usr_1","hashes":{}}',
        '{"email":"eve@example.com","creation":"unknown","hashes":{}}',
      )
      const get = (email: string) => chatctl(['users', 'get', '--state', 'users.state.json', email])
      expectFailure(
        await get('adda@example.com'),
        2,
        'users.state.json has no user with the email adda@example.com',
        'Did you mean ada@example.com?',
        'chatctl users adopt adda@example.com=ID --state users.state.json',
      )
      expectFailure(await get('eve@example.com'), 2, 'The id of eve@example.com is unknown')
      const other = await get('christopher@other.example')
      expectFailure(other, 2)
      expect(other.stderr).not.to.contain('Did you mean')
    })

    it('shows the others if one of several emails is not in the file', async () => {
      const [ada, bob] = [server.add({ email: 'ada@example.com' }), server.add({ email: 'bob@example.com' })]
      await adopt(`ada@example.com=${ada}`, `bob@example.com=${bob}`)
      const args = ['users', 'get', '--state', 'users.state.json', '--fields', 'id']
      for (const [words, stdin] of [
        [['ada@example.com', 'eve@example.com', 'bob@example.com'], ''],
        [['-'], 'ada@example.com\neve@example.com\nbob@example.com\n'],
      ] as const) {
        const run = await chatctl([...args, ...words], stdin)
        expect(run).to.include({ exitCode: 9, stdout: `${ada}\n${bob}\n` })
        expect(run.stderr).to.contain('users.state.json has no user with the email eve@example.com')
        expect(run.stderr).to.contain('1 of 3 users could not be read')
      }
    })

    it('fails if the file does not exist', async () => {
      for (const emails of [['ada@example.com'], ['ada@example.com', 'bob@example.com']]) {
        const run = await chatctl(['users', 'get', '--state', 'none.json', ...emails])
        expectFailure(run, 2, 'The state file none.json does not exist')
      }
    })
  })
})
