import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { expectFailure } from '../../support/expect-failure.ts'
import { UsersHandler } from '../../support/handlers/users.ts'
import { perTest } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, serveHandler } from '../../support/scripted-server.ts'

const ada = { email: 'ada@example.com', id: 'usr_1', hashes: { name: 'AAAAAAAAAAA', role: 'BBBBBBBBBBB' } }
const bob = { email: 'bob@example.com', id: 'usr_2', hashes: {} }

describe('users state', function () {
  this.timeout(30_000)
  const sandbox = perTest(createSandbox)
  const server = perTest(() => serveHandler(new UsersHandler({ idIn: ['nowhere'], allowsDuplicates: true })))
  const chatctl = (args: readonly string[], stdin = '') =>
    runChatctl(sandbox, ['users', ...args], { service: server, stdin })
  const path = (name: string) => join(sandbox.home, name)
  const write = (name: string, serial: number, ...users: object[]) => {
    const header = { format: 'chatctl-users-state', v: 1, service: `${server.url}/`, serial }
    writeFileSync(path(name), JSON.stringify({ ...header, users }))
  }
  const read = (name = 'users.state.json') => JSON.parse(readFileSync(path(name), 'utf8'))

  describe('forget', () => {
    const forget = (...args: string[]) => chatctl(['state', 'forget', ...args])
    const creates = () => server.report().creates.get('ada@example.com')?.met.length

    it('removes entries, and shows their IDs', async () => {
      write('users.state.json', 3, ada, bob)
      const run = await chatctl(['state', 'forget', 'ADA@example.com', '-', '--json'], 'bob@example.com\n')
      expect(run.exitCode, run.stderr).to.equal(0)
      expect(JSON.parse(run.stdout)).to.deep.equal([
        { email: 'ADA@example.com', id: 'usr_1' },
        { email: 'bob@example.com', id: 'usr_2' },
      ])
      const users = [
        { email: 'ADA@example.com', creation: 'forgotten', forgotten: 'usr_1', hashes: {} },
        { email: 'bob@example.com', creation: 'forgotten', forgotten: 'usr_2', hashes: {} },
      ]
      expect(read()).to.deep.include({ serial: 4, users })
      expect(server.report().users.size).to.equal(0)
    })

    it('keeps a user forgotten who was forgotten before, but not one who was created since', async () => {
      const states = [{ id: 'usr_1' }, { creation: 'forgotten' }]
      for (const state of states) {
        write('users.state.json', 3, { email: 'ada@example.com', ...state, hashes: {} })
        await forget('ada@example.com')
        const { users } = read()
        const again = await forget('ada@example.com', '--json')
        expect(JSON.parse(again.stdout)[0]).to.deep.equal({ email: 'ada@example.com', id: state.id ?? null })
        expect(read().users).to.deep.equal(users)
      }
      server.faults.set('POST /v1/users', json(201, { id: 'usr_9', email: 'ada@example.com' }))
      await chatctl(['create', '--email', 'ada@example.com', '--no-password'])
      await forget('ada@example.com')
      expect(read().users[0]).to.deep.include({ creation: 'forgotten', forgotten: 'usr_9' })
    })

    it('lets the next apply create a user who was created without an ID', async () => {
      writeFileSync(path('users.csv'), 'email\nada@example.com\n')
      const apply = () => chatctl(['apply', 'users.csv', '--yes', '--no-password', '--retry-unknown'])
      const forgotten = 'chatctl users state forget ada@example.com --state users.state.json'
      for (const run of [await apply(), await apply()]) {
        expect(run.exitCode).to.equal(9)
        expect(run.stderr).to.contain('chatctl users adopt ada@example.com=ID').and.contain(forgotten)
      }
      expect(creates()).to.equal(1)
      const dry = await forget('ada@example.com', '--dry-run')
      expect(dry.stderr).to.contain('Dry run: users.state.json was not changed.')
      expect(read().users).to.deep.include({ email: 'ada@example.com', creation: 'nameless', hashes: {} })
      const run = await forget('ada@example.com')
      expect(run.stderr).to.contain('users apply creates')
      const list = await chatctl(['list', '--state', 'users.state.json', '--json'])
      expect(JSON.parse(list.stdout)).to.deep.equal([])
      expect((await chatctl(['diff', 'users.csv'])).stdout).to.contain('+ create ada@example.com')
      await apply()
      expect(creates()).to.equal(2)
    })

    it('changes nothing if one of the emails is not known', async () => {
      write('users.state.json', 3, ada)
      expectFailure(
        await forget('ada@example.com', 'adda@example.com'),
        2,
        'users.state.json has no user with the email adda@example.com',
        'ada@example.com?',
      )
      expect(read().users).to.have.length(1)
      expectFailure(await forget('ada@example.com', '--state', 'none.json'), 2, 'none.json')
      expect(existsSync(path('none.json'))).to.equal(false)
    })
  })

  describe('merge', () => {
    const merge = (...flags: string[]) =>
      chatctl(['state', 'merge', 'users.state.json', 'branch.json', ...flags])

    it('adds the users of the second file to the first, and keeps only hashes on which both agree', async () => {
      const eve = { email: 'eve@example.com', creation: 'unknown', hashes: {} }
      write('users.state.json', 3, { ...ada, hashes: { ...ada.hashes, role: 'CCCCCCCCCCC' } }, eve)
      write('branch.json', 7, { ...ada, email: 'Ada@example.com' }, bob, { ...eve, creation: 'nameless' })
      const theirs = read('branch.json')
      const changes = [
        { email: 'ada@example.com', id: 'usr_1', status: 'changed', other: null },
        { email: 'bob@example.com', id: 'usr_2', status: 'added', other: null },
        { email: 'eve@example.com', id: null, status: 'changed', other: null },
      ]
      expect(JSON.parse((await merge('--dry-run', '--json')).stdout)).to.deep.equal(changes)
      expect(read().serial).to.equal(3)
      const run = await merge('--json')
      expect(run.exitCode, run.stderr).to.equal(0)
      expect(JSON.parse(run.stdout)).to.deep.equal(changes)
      expect(read()).to.deep.include({
        serial: 8,
        users: [{ ...ada, hashes: { name: 'AAAAAAAAAAA' } }, bob, { ...eve, creation: 'nameless' }],
      })
      expect(read('branch.json')).to.deep.equal(theirs)
      expect((await merge()).stdout).to.equal('')
      expect(read().serial).to.equal(8)
    })

    it('makes the file newer than one with the same users, for which a plan may be', async () => {
      write('users.state.json', 3, ada)
      write('branch.json', 7, ada)
      expect((await merge('--dry-run')).exitCode).to.equal(0)
      expect(read().serial).to.equal(3)
      expect((await merge()).exitCode).to.equal(0)
      expect(read()).to.deep.include({ serial: 8, users: [ada] })
    })

    it('keeps a user forgotten who was not created again', async () => {
      write('users.state.json', 3, ada, bob)
      await chatctl(['state', 'forget', 'ada@example.com', 'bob@example.com'])
      const [forgotten] = read().users
      const again = { ...bob, id: 'usr_9' }
      write('branch.json', 7, ada, again)
      expect((await merge()).exitCode).to.equal(0)
      expect(read().users).to.deep.equal([forgotten, again])
    })

    it('keeps a user forgotten with an ID, unless a creation has followed', async () => {
      const forgotten = { email: 'ada@example.com', creation: 'forgotten', forgotten: 'usr_1', hashes: {} }
      for (const creation of ['unknown', 'nameless', 'forgotten'])
        for (const isLater of creation === 'forgotten' ? [false] : [false, true]) {
          const other = { ...forgotten, creation, forgotten: isLater ? 'usr_1' : undefined }
          for (const [ours = {}, theirs = {}] of [
            [forgotten, other],
            [other, forgotten],
          ]) {
            write('users.state.json', 1, ours)
            write('branch.json', 1, theirs)
            expect((await merge()).exitCode).to.equal(0)
            expect(read().users).to.deep.equal([isLater ? other : forgotten])
          }
        }
    })

    it('keeps the state of a user that says more', async () => {
      const states = [
        { creation: 'forgotten' },
        { creation: 'unknown' },
        { creation: 'nameless' },
        { id: 'usr_1' },
      ]
      for (const [index, more] of states.entries()) {
        for (const less of states.slice(0, index)) {
          for (const [ours, theirs] of [
            [more, less],
            [less, more],
          ]) {
            write('users.state.json', 1, { email: 'ada@example.com', ...ours, hashes: {} })
            write('branch.json', 1, { email: 'ada@example.com', ...theirs, hashes: {} })
            expect((await merge()).exitCode).to.equal(0)
            expect(read().users).to.deep.equal([{ email: 'ada@example.com', ...more, hashes: {} }])
          }
        }
      }
    })

    it('merges nothing and exits 7 if a user has two IDs, or an ID two emails', async () => {
      write('users.state.json', 3, ada, { ...bob, email: 'robert@example.com' })
      write('branch.json', 3, { ...ada, id: 'usr_9' }, bob, {
        email: 'eve@example.com',
        id: 'usr_5',
        hashes: {},
      })
      const before = read()
      const run = await merge('--json')
      expect(run.exitCode).to.equal(7)
      expect(run.stderr).to.contain('Nothing was merged: 2 users of branch.json have another ID or email in')
      expect(JSON.parse(run.stdout)).to.deep.equal([
        { email: 'ada@example.com', id: 'usr_1', status: 'conflict', other: 'usr_9' },
        { email: 'bob@example.com', id: 'usr_2', status: 'conflict', other: 'robert@example.com' },
      ])
      expect(read()).to.deep.equal(before)
    })

    it('refuses a file that does not exist, and one of another service', async () => {
      write('users.state.json', 3, ada)
      expectFailure(await merge(), 2, 'The state file branch.json does not exist')
      write('branch.json', 3, bob)
      writeFileSync(
        path('branch.json'),
        readFileSync(path('branch.json'), 'utf8').replace('127.0.0.1', 'chat'),
      )
      expectFailure(await merge(), 7, 'branch.json is for')
    })
  })
})
