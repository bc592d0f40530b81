import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { localAuditContext, recordChange } from '../../../src/service/domain/audit.ts'
import { migrations } from '../../../src/service/store/migrations.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { readEvents } from '../../service/read-events.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { expectFailure, expectSuccess } from '../../support/expect-failure.ts'
import { freePort } from '../../support/free-port.ts'
import { perTest } from '../../support/lifetime.ts'
import { halfReply, withModelServer } from '../../support/model-server.ts'
import { plantBrowserSession } from '../../support/plant-browser-session.ts'
import { type Run, runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { makeKey, serveInProcess } from '../../support/run-service.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json } from '../../support/scripted-server.ts'
import { withSecondMigration } from '../../support/second-migration.ts'
import { type ServedRuns, serveRuns } from '../../support/served-runs.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

let flags: ServedRuns
const runHere = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runChatctl(flags.sandbox, args, { env })
const file = (name: string, text: string) => flags.file(name, text)
/** Runs `chatctl service`, with the words of the line and then the others. */
const service = (line: string, ...others: string[]) => runHere(['service', ...line.split(' '), ...others])
const printed = async (...words: Parameters<typeof service>) => (await service(...words)).stdout.trim()
const parsed = async (...words: Parameters<typeof service>) => JSON.parse((await service(...words)).stdout)
const exitCode = async (...words: Parameters<typeof service>) => (await service(...words)).exitCode
/** Also with `--jq`, which makes errors JSON. */
function expectRefusal(run: Run, code: number, ...words: string[]): void {
  expect(run.exitCode, run.stderr).to.equal(code)
  for (const word of words) expect(run.stderr).to.contain(word)
}
const password = () => ['--password-file', file('admin-password.txt', 'long enough\n')]
const inJanuary = '2999-01-31T00:00:00.000Z'

/** The flags of `service`, each with a check of its effect. */
const effects: Record<string, () => Promise<void>> = {
  'service:users:list role, search, since, limit': async () => {
    const dir = dataDirectory('people')
    const store = openSqlite(dir)
    const day = '2026-02-01T00:00:00.000Z'
    const user = { password_hash: null, metadata: '{}', permissions: '[]', created_at: day, updated_at: day }
    for (const [id, name, role] of [
      ['ada', 'Ada', 'admin'],
      ['bob', 'Élan', 'member'],
      ['cyd', 'Cyd', 'member'],
    ] as const) {
      const email = `${id}@example.com`
      const row = { ...user, id, email, email_key: email, name, role }
      await store.db.insertInto('users').values(row).execute()
    }
    await store.close()
    const list = async (...args: string[]) => {
      const ids = ['--jq', 'map(.id) | join(" ")']
      const { stdout, stderr } = await service('users list --data', dir, ...ids, ...args)
      return `${stdout.trim()} ${stderr}`.trim()
    }
    expect(await list()).to.equal('ada bob cyd usr_admin')
    expect(await list('--role', 'member')).to.equal('bob cyd')
    expect(await list('--role', 'member', '--search', 'éLAN')).to.equal('bob')
    expect(await list('--search', '%')).to.equal('')
    expect(await list('--search', 'EXAMPLE', '--since', '2026-02-01')).to.equal('ada bob cyd')
    expect(await list('--since', '1d')).to.equal('usr_admin')
    expect(await list('--role', 'member', '--limit', '1'))
      .to.contain('cyd')
      .and.contain('1 of 2 users')
  },
  'service:keys:create user': async () => {
    const create = 'keys create one --jq .user_id --user'
    expect(await printed(create, 'Admin@localhost')).to.equal('usr_admin')
    expect(await exitCode(create, 'nobody@localhost')).to.equal(6)
  },
  'service:keys:create permission': async () => {
    const create = ['keys create --name one --jq', '.permissions | tojson'] as const
    const two = ['--permission', 'read:chat', '--permission', '*:users']
    expect(await printed(...create, ...two)).to.equal('["read:chat","*:users"]')
    expect(await printed(...create, '--permission', 'all')).to.equal('null')
    expectRefusal(await service(...create, '--permission', 'read:chta'), 2, 'Did you mean read:chat?')
  },
  'service:keys:create expires': async () => {
    const create = 'keys create --name one --jq .expires_at --expires'
    expect(await printed(create, '2999-01-31')).to.equal(inJanuary)
    expect(await printed(create, 'never')).to.equal('null')
    const host = { clock: new SteppedClock() }
    const words = ['service', ...create.split(' '), '30d']
    const { stdout } = await runChatctl(flags.sandbox, words, { host })
    expect(stdout).to.equal('2026-03-31T12:00:00.000Z\n')
    for (const time of ['2001-01-31', 'soon']) expect(await exitCode(create, time)).to.equal(2)
  },
  'service:keys:update name, tier, limit, permission, expires, data': async () => {
    const data = ['--data', dataDirectory('update')]
    const id = await printed('keys create --name one --jq .id', ...data)
    const update = `keys update ${id} --json`
    const values = '--name two --tier enterprise --limit 7 --permission read:chat --expires 2999-01-31'
    const changed = await parsed(`${update} ${values}`, ...data)
    expect(changed).to.include({ id, name: 'two', tier: 'enterprise', limit: 7, expires_at: inJanuary })
    expect(changed.permissions).to.deep.equal(['read:chat'])
    const lifted = await parsed(`${update} --permission all --expires never --tier pro`, ...data)
    expect(lifted).to.include({ limit: 1000, permissions: null, expires_at: null })
    expect(await exitCode(update, ...data)).to.equal(2)
    expect(await exitCode(`${update} --name three`)).to.equal(6)
  },
  'service:keys:rotate overlap, expires, data': async () => {
    const data = ['--data', dataDirectory('rotate')]
    await service('keys create --name ci', ...data)
    const rotate = (line: string) => parsed(`keys rotate ci --json ${line}`, ...data)
    expect(await rotate('--dry-run')).to.have.nested.property('replaces.name', 'ci (rotated)')
    const first = await rotate('--expires 2999-01-31')
    expect(first).to.include({ name: 'ci', expires_at: inJanuary })
    expect(first.key).to.match(/^ck_/)
    expect(first.replaces).to.include({ name: 'ci (rotated)', revoked_at: null })
    const second = await rotate('--overlap 0')
    expect(second.replaces).to.include({ id: first.id, name: 'ci' })
    expect(second.replaces.revoked_at).to.be.a('string')
    expect((await rotate('--overlap 7d --expires never')).expires_at).to.equal(null)
    for (const overlap of ['soon', '7', '99999999d'])
      expect(await exitCode('keys rotate ci --overlap', overlap, ...data), overlap).to.equal(2)
  },
  'service:admin:create name, password-stdin, password-file, data': async () => {
    const data = ['--data', dataDirectory('admin')]
    const create = 'admin create Ada@example.com --jq .name'
    expect(await printed(create, '--name', 'Ada', ...password(), ...data)).to.equal('Ada')
    expectRefusal(await service(create, ...password(), ...data), 7, 'service users reset')
    const other = 'service admin create bob@example.com --jq .email --password-stdin'.split(' ')
    const piped = await runChatctl(flags.sandbox, [...other, ...data], { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('bob@example.com\n')
  },
  'service:users:reset password-stdin, password-file, keep-password, data': async () => {
    const data = ['--data', dataDirectory('reset')]
    await service('admin create ada@example.com', ...password(), ...data)
    const reset = 'users reset Ada@example.com --jq .role'
    expect(await printed(`${reset} --yes`, ...password(), ...data)).to.equal('admin')
    const words = ['service', ...`${reset} --yes --password-stdin`.split(' '), ...data]
    const piped = await runChatctl(flags.sandbox, words, { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('admin\n')
    expect(await printed(`${reset} --yes --keep-password`, ...data)).to.equal('admin')
    const audit = 'audit --action user.reset --jq [.[].after.password_changed]'
    expect(await parsed(audit, ...data)).to.deep.equal([true, true, null])
    const both = await service(`${reset} --yes --keep-password`, ...password(), ...data)
    expect(both).to.include({ exitCode: 2, stdout: '' })
    const short = file('short', 'x')
    expect(await exitCode(`${reset} --yes --password-file`, short, ...data)).to.equal(2)
    expect(await exitCode(reset, ...password(), ...data)).to.equal(3)
    expect(await exitCode('users reset none@example.com', ...password(), ...data)).to.equal(6)
  },
  'service:users:offboard export, force, keep-audit, yes, data': async () => {
    const data = ['--data', dataDirectory('offboard')]
    const users = (line: string, ...others: string[]) =>
      runHere(['service', 'users', ...line.split(' '), ...others, ...data], { SUDO_USER: 'eve o\n' })
    const ids: string[] = []
    for (const name of ['ada', 'bob', 'eve', 'zoe']) {
      const create = ['service', 'admin', 'create', `${name}@example.com`, '--jq', '.id', ...password()]
      ids.push((await runHere([...create, ...data], { SUDO_USER: 'eve o\n' })).stdout.trim())
    }
    const [ada = '', bob = ''] = ids
    const path = join(flags.sandbox.home, 'ada.json')
    const ends = ['offboard Ada@example.com --export', path] as const
    expect((await users(...ends)).stderr).to.include('ada@example.com (0 API keys, 0 trusts')
    expect(await users(`offboard ${ada} --export -`, '--yes')).to.include({ exitCode: 2, stdout: '' })
    file('ada.json', 'of another user')
    expect((await users(...ends, '--yes')).stderr).to.include('--force')
    const report = await users(...ends, '--yes', '--force', '--json')
    const steps: Record<string, unknown>[] = JSON.parse(report.stdout)
    expect(steps.map(({ step }) => step)).to.deep.equal(['disable', 'verify', 'export', 'delete', 'verify'])
    expect(steps[1]).to.include({ credentials: 1 })
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(JSON.parse(readFileSync(path, 'utf8')).user).to.include({ id: ada, email: 'ada@example.com' })
    expect((await users(`show ${ada}`)).exitCode).to.equal(6)
    const audit = (...words: string[]) => printed('audit --json', ...words, ...data)
    expect(await audit('--target', String(steps[3]?.['audit_subject']))).not.to.include('ada')
    expect(await audit('--actor', 'machine:eve_o_')).to.include('user.delete')
    expect(await audit('--actor', 'machine'))
      .to.include('"machine:eve_o_"')
      .and.include('admin.create')
    const kept = await users('delete bob@example.com --keep-audit --yes --jq .audit_subject')
    expect(kept.stdout).to.equal(`${bob}\n`)
    const last = ['--keep-audit', '--yes', '--jq', '.[3].audit_subject']
    const offboarded = await users('offboard eve@example.com --export', `${path}.eve`, ...last)
    expect(offboarded.stdout).to.equal(`${ids[2]}\n`)
    const seen = (await users('disable zoe@example.com --yes')).stderr
    expect(seen).to.include('the last admin who can sign in').and.include('service admin create')
  },
  'service:audit since, until, actor, action, target, limit, data': async () => {
    const dir = dataDirectory('audit')
    const data = ['--data', dir]
    const create = () => printed('keys create --name one --jq .id', ...data)
    const [one, two] = [await create(), await create()]
    await service(`keys update ${one} --name two`, ...data)
    const seen = (...given: string[]) =>
      printed('audit --jq', '[.[] | .action, .target] | join(" ")', ...data, ...given)
    const [first, second, third] = [`key.create ${one}`, `key.create ${two}`, `key.update ${one}`]
    const all = `${first} ${second} ${third}`
    expect(await seen()).to.equal(all)
    expect(await seen('--limit', '2')).to.equal(`${second} ${third}`)
    expect(await seen('--action', 'key.create')).to.equal(`${first} ${second}`)
    expect(await seen('--action', 'key', '--target', two)).to.equal(second)
    expect(await seen('--action', 'ke')).to.equal('')
    expect(await seen('--actor', 'machine')).to.equal(all)
    expect(await seen('--actor', 'admin@localhost')).to.equal('')
    expect(await seen('--since', '1h')).to.equal(all)
    expect(await seen('--until', '1h')).to.equal('')
    expect(await seen('--since', '2999-01-01')).to.equal('')
    const store = openSqlite(dir)
    const byKey = { ...localAuditContext(systemClock), actor: 'usr_admin', keyId: two }
    const change = { action: 'key.update', target: 'settings', before: null } as const
    for (let n = 0; n < 60; n++) await recordChange(store.db, byKey, { ...change, after: { n } })
    await store.close()
    const audit = (line = '') => runHere(['service', 'audit', ...data, ...line.split(' ').filter(Boolean)])
    expect(await audit('--jq length')).to.include({ stdout: '63\n', stderr: '' })
    expect((await audit()).stderr).to.include('the newest 50 of 63 entries. Show all with: --limit 63')
    expect(await audit('--jq length --since 1h')).to.include({ stdout: '63\n', stderr: '' })
    expect((await audit('--since 1h --limit 60')).stderr).to.include('--limit 63')
    expect((await audit(`--actor ${two}`)).stderr).to.include('50 of 60 entries')
    // Both keys have this name.
    expect((await audit('--jq length --actor one --limit 99')).stdout).to.equal('60\n')
    const unknown = await audit('--jq length --actor nobody')
    expectRefusal(unknown, 6, 'No user or API key', 'chatctl service keys list')
  },
  'service:backup to, data, force': async () => {
    const data = ['--data', dataDirectory('backup')]
    await service('keys create --name x', ...data)
    const copy = join(flags.sandbox.home, 'copy.db')
    expect(await printed('backup --jq .file --to', copy, ...data)).to.equal(copy)
    expect(existsSync(copy)).to.equal(true)
    expect(await exitCode('backup --to', copy, ...data)).to.equal(7)
    expect(await exitCode('backup --force --to', copy, ...data)).to.equal(0)
    expect(await service('backup --to -', ...data)).to.include({ exitCode: 2, stdout: '' })
    expect(existsSync(join(flags.sandbox.home, '-'))).to.equal(false)
  },
  'service:restore data, yes': async () => {
    const data = ['--data', dataDirectory('restore')]
    await service('keys create --name x', ...data)
    const copy = join(flags.sandbox.home, 'to-restore.db')
    await service('backup --to', copy, ...data)
    const other = dataDirectory('restored')
    const restore = ['restore', copy, '--data', other] as const
    expect(await exitCode(...restore)).to.equal(3)
    expect(existsSync(other)).to.equal(false)
    expect(await exitCode(...restore, '--yes')).to.equal(0)
    expect(await printed('keys list --jq .[].name --data', other)).to.equal('x')
  },
  'service:trust:create issuer, audience, subject, permission, expires, tier, limit, user, data':
    async () => {
      const data = ['--data', dataDirectory('trust')]
      const given = ['--issuer', 'https://ci.example/', '--audience', 'a b', '--subject', 'repo:acme/*:x']
      const permissions = '--permission read:chat --permission *:users --permission read:chat'.split(' ')
      const create = (name: string, ...words: string[]) =>
        service('trust create', name, ...data, ...given, ...permissions, ...words)
      const limits = '--expires 1h --tier enterprise --limit 7 --user Admin@localhost'.split(' ')
      const made = await create('deploy', ...limits, '--json')
      const { id: _, created_at: __, ...trust } = JSON.parse(made.stdout)
      expect(trust).to.deep.equal({
        ...{ name: 'deploy', issuer: 'https://ci.example/', audience: 'a b', subject: 'repo:acme/*:x' },
        ...{ permissions: ['read:chat', '*:users'], user_id: 'usr_admin', user_email: 'admin@localhost' },
        ...{ tier: 'enterprise', limit: 7, expires_in: 3600, last_used_at: null },
      })
      expectFailure(await create('deploy'), 7, 'chatctl service trust revoke deploy')
      expect((await create('plain', '--jq', '.expires_in')).stdout).to.equal('900\n')
      const refused: [flag: string, value: string, sentence: string][] = [
        ['--issuer', 'http://ci.example', 'https://'],
        ['--issuer', 'https://user@ci.example', 'issuer'],
        ['--issuer', 'ci.example', 'issuer'],
        ['--subject', '*', 'the whole owner'],
        ['--subject', 'repo:**', 'the whole owner'],
        ['--subject', 'repo:acme**', 'the whole owner'],
        ['--subject', 'a***', 'use ** instead'],
        ['--subject', 'a\n', 'control characters'],
        ['--audience', 'a\u0007', 'control characters'],
        ['--permission', 'read:chta', 'Did you mean read:chat?'],
        ['--expires', '59s', '1 minute to 1 hour'],
        ['--expires', '61m', '1 minute to 1 hour'],
      ]
      const [, issuer = '', , audience = '', , subject = ''] = given
      const needed = { '--issuer': issuer, '--audience': audience, '--subject': subject }
      for (const [flag, value, sentence] of refused) {
        const words = Object.entries({ ...needed, '--permission': 'read:chat', [flag]: value }).flat()
        expectFailure(await service('trust create slip', ...data, ...words), 2, sentence)
      }
      expect((await create('a b')).exitCode).to.equal(2)
    },
  'service:trust:revoke data, yes': async () => {
    const data = ['--data', dataDirectory('trust')]
    const revoke = 'trust revoke deploy'
    expect(await exitCode(revoke, ...data)).to.equal(3)
    expect(await exitCode(`${revoke} --yes`)).to.equal(6)
    expect(await printed(`${revoke} --yes --jq .name`, ...data)).to.equal('deploy')
    expect(await exitCode(`${revoke} --yes`, ...data)).to.equal(6)
    const actions = ['--jq', '[.[] | .action] | join(" ")']
    expect(await printed('audit --target deploy', ...actions, ...data)).to.equal('trust.create trust.revoke')
    const mistyped = await service('audit --target deployer', ...data)
    expectFailure(mistyped, 6, 'No user, API key, or trust "deployer"', 'chatctl service trust list')
  },
  'service:sessions:revoke data, yes': async () => {
    const dir = dataDirectory('sessions-revoke')
    const revoke = `sessions revoke ${await plantBrowserSession(dir)}`
    expect(await exitCode(revoke, '--data', dir)).to.equal(3)
    expect(await exitCode(revoke, '--yes')).to.equal(6)
    for (const code of [0, 6]) expect(await exitCode(revoke, '--data', dir, '--yes')).to.equal(code)
  },
  'service:run host, port, data, model-server, model-server-key-file': async () => {
    const message = { role: 'assistant', content: 'From above' }
    await flags.server.serve(json(200, { choices: [{ message }] }))
    const data = ['--data', dataDirectory('run')]
    const CHATCTL_API_KEY = await printed('keys create --name x --jq .key', ...data)
    const port = await freePort()
    const keyFile = file('up.key', 'model-server-key\n')
    const words = `--host 127.0.0.1 --port ${port} --model-server ${flags.server.url}/v1`.split(' ')
    await serve([...words, '--model-server-key-file', keyFile, ...data], async (url) => {
      expect(url).to.equal(`http://127.0.0.1:${port}`)
      const line = ['chat', 'complete', 'Hi', '--model', 'm']
      const { stdout, stderr } = await runHere(line, { CHATCTL_BASE_URL: url, CHATCTL_API_KEY })
      expect(stdout, stderr).to.equal('From above\n')
      expect(flags.server.requests.at(-1)?.headers.authorization).to.equal('Bearer model-server-key')
    })
  },
  'service:run tls-cert, tls-key': async () => {
    const { cert, key } = makeCertificate('127.0.0.1')
    const files = ['--tls-cert', file('tls.crt', cert), '--tls-key', file('tls.key', key)]
    await serve(['--port', '0', ...files], async (url) => {
      expect(url).to.match(/^https:/)
    })
    for (const flag of ['--tls-cert', '--tls-key'])
      expect(await exitCode('run --port 0', flag, 'x')).to.equal(2)
  },
  'service:run behind-proxy': async () => {
    const open = ['service', 'run', '--host', '0.0.0.0', '--port', '0']
    const refused = await runHere(open)
    expect(refused).to.include({ exitCode: 2, stdout: '' })
    expect(refused.stderr).to.include('--tls-cert').and.include('--behind-proxy')
    await serve([...open.slice(2), '--behind-proxy'], async (url) => {
      expect((await fetch(`${url}/healthz`)).status).to.equal(200)
    })
  },
  'service:run public-url': async () => {
    await serve(['--port', '0', '--public-url', 'https://chat.example'], async (url) => {
      expect(await (await fetch(url)).text()).to.include('--base-url https://chat.example<')
    })
  },
  'service:run device-admin': async () => {
    const request = async (url: string) => {
      const body = new URLSearchParams({ client_id: 'chatctl', scope: 'admin' })
      return (await fetch(`${url}/oauth/device_authorization`, { method: 'POST', body })).status
    }
    await serve(['--port', '0', '--device-admin'], async (url) => {
      expect(await request(url)).to.equal(200)
    })
    await serve(['--port', '0'], async (url) => {
      expect(await request(url)).to.equal(400)
    })
  },
  'service:run openai': async () => {
    // Without a key: 401 if the endpoint exists.
    for (const flag of [[], ['--openai'], ['--no-openai']])
      await serve(['--port', '0', ...flag], async (url) => {
        const { status } = await fetch(`${url}/openai/v1/models`)
        expect(status).to.equal(flag[0] === '--no-openai' ? 404 : 401)
      })
  },
  'service:run openai-field': async () => {
    const data = ['--data', dataDirectory('fields')]
    const send = await completing(...data)
    await serve(['--port', '0', ...data, '--openai-field', 'temperature'], async (url) => {
      expect((await send(url, { temperature: 1 })).status).to.equal(200)
      const refused = await send(url, { n: 2 })
      expect([refused.status, await refused.text()].join()).to.match(/^400.*\bn\b/)
    })
  },
  'service:run openai-body-limit': async () => {
    const data = ['--data', dataDirectory('limit')]
    const send = await completing(...data)
    await serve(['--port', '0', ...data, '--openai-body-limit', '1k'], async (url) => {
      expect((await send(url, {}, 1024)).status).to.equal(200)
      expect((await send(url, {}, 1025)).status).to.equal(413)
    })
    for (const wrong of ['0', '65m', '1k --no-openai'])
      expect(await exitCode(`run --openai-body-limit ${wrong}`)).to.equal(2)
  },
  'service:run admin-port': async () => {
    const adminOf = async (...flag: string[]) => {
      let admin: unknown
      await serve(['--port', '0', ...flag], async () => {
        admin = (await parsed('status --json')).running.admin_url
      })
      return admin
    }
    const port = await freePort()
    expect(await adminOf('--admin-port', String(port))).to.equal(`http://127.0.0.1:${port}`)
    expect(await adminOf('--admin-port', 'off')).to.equal(null)
    expect(await adminOf()).to.match(/^http:/)
    for (const none of ['65536', '-1', 'on', '1.5'])
      expect(await exitCode('run --admin-port', none), none).to.equal(2)
  },
  'service:run drain': async () => {
    const { serve: answer, finish } = halfReply()
    await withModelServer(answer, async (modelServer) => {
      const key = await makeKey(flags.sandbox)
      let events: ReturnType<typeof readEvents> | undefined
      await serve(['--port', '0', '--model-server', modelServer.url, '--drain', '50ms'], async (url) => {
        const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        const body = JSON.stringify({ message: 'x', stream: true })
        events = readEvents(await fetch(`${url}/api/chat/send`, { method: 'POST', headers, body }))
        await events.next()
      })
      expect((await events?.next())?.value.data.error.code).to.equal('service_stopping')
      finish()
    })
  },
  'service:run log-level': async () => {
    const quiet = await serve(['--port', '0', '--log-level', 'silent'], async () => {})
    const loud = await serve(['--port', '0', '--log-level', 'trace'], async (url) => {
      await fetch(`${url}/v1/settings`)
    })
    expect(quiet).to.equal('')
    expect(await serve(['--port', '0', '-q'], async () => {})).to.equal('')
    expect(await serve(['--port', '0', '-q', '--log-level', 'info'], async () => {})).not.to.equal('')
    expect(JSON.parse(loud.split('\n')[0] ?? '')).to.be.an('object')
  },
}

function dataDirectory(name: string): string {
  return join(flags.sandbox.home, `data-${name}`)
}

/** @returns a function that sends a completion to the service with a new key, with a body of at least this size */
async function completing(...data: string[]) {
  const key = await printed('keys create --name x --jq .key', ...data)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return (url: string, field: object, size = 0) => {
    const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...field }).padEnd(size)
    return fetch(`${url}/openai/v1/chat/completions`, { method: 'POST', headers, body })
  }
}

/** @returns the log of the service */
async function serve(words: string[], use: (url: string) => Promise<void>): Promise<string> {
  const { stdin, stdout, interrupt, ended } = startChatctl(flags.sandbox, ['service', 'run', ...words])
  stdin.end()
  const [chunk = ''] = await Promise.race([once(stdout, 'data'), ended.then(() => [])])
  try {
    const ready = String(chunk).trim()
    const url = ready.startsWith('{') ? JSON.parse(ready).url : ready
    expect(url).to.match(/^https?:/)
    await use(url)
  } finally {
    interrupt()
  }
  return (await ended).stderr
}

describe('flags of the embedded service', function () {
  this.timeout(60_000)
  flags = serveRuns()

  for (const [name, check] of Object.entries(effects)) it(`have an effect: ${name}`, check)
})

const older = migrations.length
const newer = older + 1

describe('data of an older version', () => {
  const sandbox = perTest(createSandbox)
  const directory = () => join(sandbox.home, '.local/share/chatctl')
  const file = () => join(directory(), 'chatctl.db')
  const run = (line: string, stdin = '') => runChatctl(sandbox, line.split(' '), { stdin })
  const copies = () => readdirSync(directory()).filter((name) => name.startsWith('before-migration'))
  const schema = async () => {
    const store = openSqlite(directory())
    const newest = store.db.selectFrom('migrations').select(({ fn }) => fn.max('number').as('n'))
    const [row] = await newest.execute()
    await store.close()
    return row?.n
  }

  beforeEach(async () => expect(await run('service keys create old')).to.include({ exitCode: 0 }))

  it('is refused by every command that reads or changes it, which name the command that migrates', () =>
    withSecondMigration(async () => {
      const before = readFileSync(file())
      const trust =
        '--issuer https://ci.example --audience me --subject repo:acme/app:x --permission read:chat'
      const words = `${file()} was created by an older chatctl (schema ${older}; this version requires ${newer})`
      for (const line of [
        ...['service status', 'service audit', 'settings history --service -p local', 'service users list'],
        ...['service users reset admin@localhost --keep-password', 'service keys list'],
        ...['service keys create new', 'service keys create new --dry-run'],
        ...['service keys update old --name new', 'service keys rotate old --dry-run'],
        ...['service keys revoke old --dry-run', 'service sessions list', 'service sessions revoke x'],
        ...['service trust list', 'service trust revoke x', `service trust create x ${trust}`],
      ])
        expectFailure(await run(line), 1, words, 'chatctl service migrate')
      expect(readFileSync(file()).equals(before)).to.equal(true)
      expect(copies()).to.deep.equal([])
      // A backup comes before the migration.
      expect(await run(`service backup --to ${join(sandbox.home, 'backup.db')}`)).to.include({ exitCode: 0 })
    }))

  it('is migrated by service migrate, after a copy; --dry-run shows the time and the space', () =>
    withSecondMigration(async () => {
      const planned = JSON.parse((await run('service migrate --dry-run --json')).stdout)
      const { migrate } = planned.change ?? planned
      expect(migrate).to.include({ database: file(), from: older, to: newer, backup: null })
      expect(migrate.milliseconds).to.be.at.least(0)
      expect(migrate.bytes_after - migrate.bytes_before).to.equal(4096)
      expectFailure(await run('service status'), 1, 'older chatctl')
      const migrated = JSON.parse((await run('service migrate --json')).stdout)
      const backup = join(directory(), `before-migration-from-${older}.db`)
      expect(migrated).to.include({ from: older, to: newer, backup })
      expect(await schema()).to.equal(newer)
      expect((await run('service keys list --jq .[].name')).stdout).to.equal('old\n')
      const again = await run('service migrate --json')
      expect(JSON.parse(again.stdout)).to.include({ from: newer, to: newer, backup: null })
      expect(again.stderr).to.contain('already')
      // The copy can be restored, and is older data again.
      expect(await run(`service restore ${backup} --yes`)).to.include({ exitCode: 0 })
      expectFailure(await run('service status'), 1, 'older chatctl')
    }))

  it('is migrated by the profile local, with a notice of the copy', () =>
    withSecondMigration(async () => {
      const { stderr } = expectSuccess(await run('settings get app_name -p local'))
      expect(stderr).to.contain(join(directory(), `before-migration-from-${older}.db`))
      expect(await schema()).to.equal(newer)
    }))

  it('is not migrated while another process uses it, unless it is told to', async () => {
    const old = openSqlite(directory())
    await withSecondMigration(async () => {
      for (const line of ['service migrate', 'service migrate --dry-run', 'settings get app_name -p local'])
        expectFailure(await run(line), 7, `Other processes use ${file()}`, 'service migrate --force')
      expectFailure(await run('service run --port 0'), 7, 'Other processes use', 'service run --migrate')
      expect(copies()).to.deep.equal([])
      const service = await serveInProcess(sandbox, ['--migrate'])
      expect((await fetch(`${service.url}/readyz`)).status).to.equal(200)
      await service.stop()
      expect(await schema()).to.equal(newer)
    })
    await old.close()
  })

  it('is migrated by service run, and by service migrate --force also while it is used', () =>
    withSecondMigration(async () => {
      const service = await serveInProcess(sandbox)
      await service.stop()
      expect(await schema()).to.equal(newer)
      expect(existsSync(join(directory(), `before-migration-from-${older}.db`))).to.equal(true)
      const held = openSqlite(directory())
      await withSecondMigration(async () => {
        expectFailure(await run('service migrate'), 7, 'Other processes use')
        expect(await run('service migrate --force')).to.include({ exitCode: 0 })
        expect(await schema()).to.equal(newer + 1)
      })
      await held.close()
    }))
})
