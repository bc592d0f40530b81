import { once } from 'node:events'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { localAuditContext, recordChange } from '../../../src/service/domain/audit.ts'
import { openSqlite } from '../../../src/service/store/sqlite/open-sqlite.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { readEvents } from '../../service/read-events.ts'
import { makeCertificate } from '../../support/certificate.ts'
import { freePort } from '../../support/free-port.ts'
import { halfReply, withModelServer } from '../../support/model-server.ts'
import { plantBrowserSession } from '../../support/plant-browser-session.ts'
import { runChatctl, startChatctl } from '../../support/run-chatctl.ts'
import { makeKey } from '../../support/run-service.ts'
import { json } from '../../support/scripted-server.ts'
import { type ServedRuns, serveRuns } from '../../support/served-runs.ts'
import { SteppedClock } from '../../support/stepped-clock.ts'

let flags: ServedRuns
const runHere = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  runChatctl(flags.sandbox, args, { env })
const file = (name: string, text: string) => flags.file(name, text)

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
      await store.db
        .insertInto('users')
        .values({ ...user, id, email, email_key: email, name, role })
        .execute()
    }
    await store.close()
    const list = async (...args: string[]) => {
      const words = ['service', 'users', 'list', '--data', dir, '--jq', 'map(.id) | join(" ")', ...args]
      const { stdout, stderr } = await runHere(words)
      return `${stdout.trim()} ${stderr}`.trim()
    }
    expect(await list()).to.equal('ada bob cyd usr_admin')
    expect(await list('--role', 'member')).to.equal('bob cyd')
    expect(await list('--role', 'member', '--search', 'éLAN')).to.equal('bob')
    expect(await list('--search', '%')).to.equal('')
    expect(await list('--search', 'EXAMPLE', '--since', '2026-02-01')).to.equal('ada bob cyd')
    expect(await list('--since', '1d')).to.equal('usr_admin')
    const shown = await list('--role', 'member', '--limit', '1')
    expect(shown).to.contain('cyd').and.to.contain('1 of 2 users')
  },
  'service:keys:create user': async () => {
    const args = ['service', 'keys', 'create', 'one', '--jq', '.user_id', '--user']
    expect((await runHere([...args, 'Admin@localhost'])).stdout).to.equal('usr_admin\n')
    expect((await runHere([...args, 'nobody@localhost'])).exitCode).to.equal(6)
  },
  'service:keys:create permission': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.permissions | tojson']
    const two = ['--permission', 'read:chat', '--permission', '*:users']
    expect((await runHere([...args, ...two])).stdout).to.equal('["read:chat","*:users"]\n')
    expect((await runHere([...args, '--permission', 'all'])).stdout).to.equal('null\n')
    const slip = await runHere([...args, '--permission', 'read:chta'])
    expect(slip.exitCode).to.equal(2)
    expect(slip.stderr).to.contain('Did you mean read:chat?')
  },
  'service:keys:create expires': async () => {
    const args = ['service', 'keys', 'create', '--name', 'one', '--jq', '.expires_at', '--expires']
    expect((await runHere([...args, '2999-01-31'])).stdout).to.equal('2999-01-31T00:00:00.000Z\n')
    expect((await runHere([...args, 'never'])).stdout).to.equal('null\n')
    const host = { clock: new SteppedClock() }
    const { stdout } = await runChatctl(flags.sandbox, [...args, '30d'], { host })
    expect(stdout).to.equal('2026-03-31T12:00:00.000Z\n')
    expect((await runHere([...args, '2001-01-31'])).exitCode).to.equal(2)
    expect((await runHere([...args, 'soon'])).exitCode).to.equal(2)
  },
  'service:keys:update name, tier, limit, permission, expires, data': async () => {
    const dir = dataDirectory('update')
    const made = ['service', 'keys', 'create', '--name', 'one', '--data', dir, '--jq', '.id']
    const id = (await runHere(made)).stdout.trim()
    const update = ['service', 'keys', 'update', id, '--json', '--data', dir]
    const values = ['--name', 'two', '--tier', 'enterprise', '--limit', '7', '--permission', 'read:chat']
    const changed = JSON.parse((await runHere([...update, ...values, '--expires', '2999-01-31'])).stdout)
    expect(changed).to.include({ id, name: 'two', tier: 'enterprise', limit: 7 })
    expect(changed).to.include({ expires_at: '2999-01-31T00:00:00.000Z' })
    expect(changed.permissions).to.deep.equal(['read:chat'])
    const lifted = await runHere([...update, '--permission', 'all', '--expires', 'never', '--tier', 'pro'])
    expect(JSON.parse(lifted.stdout)).to.include({ limit: 1000, permissions: null, expires_at: null })
    expect((await runHere(update)).exitCode).to.equal(2)
    expect((await runHere([...update.slice(0, 5), '--name', 'three'])).exitCode).to.equal(6)
  },
  'service:keys:rotate overlap, expires, data': async () => {
    const dir = dataDirectory('rotate')
    await runHere(['service', 'keys', 'create', '--name', 'ci', '--data', dir])
    const rotate = ['service', 'keys', 'rotate', 'ci', '--json', '--data', dir]
    const planned = JSON.parse((await runHere([...rotate, '--dry-run'])).stdout)
    expect(planned).to.have.nested.property('replaces.name', 'ci (rotated)')
    const first = JSON.parse((await runHere([...rotate, '--expires', '2999-01-31'])).stdout)
    expect(first).to.include({ name: 'ci', expires_at: '2999-01-31T00:00:00.000Z' })
    expect(first.key).to.match(/^ck_/)
    expect(first.replaces).to.include({ name: 'ci (rotated)', revoked_at: null })
    const second = JSON.parse((await runHere([...rotate, '--overlap', '0'])).stdout)
    expect(second.replaces).to.include({ id: first.id, name: 'ci' })
    expect(second.replaces.revoked_at).to.be.a('string')
    const third = JSON.parse((await runHere([...rotate, '--overlap', '7d', '--expires', 'never'])).stdout)
    expect(third.expires_at).to.equal(null)
    for (const overlap of ['soon', '7', '99999999d'])
      expect((await runHere([...rotate, '--overlap', overlap])).exitCode, overlap).to.equal(2)
  },
  'service:admin:create name, password-stdin, password-file, data': async () => {
    const dir = dataDirectory('admin')
    const create = ['service', 'admin', 'create', 'Ada@example.com', '--data', dir, '--jq', '.name']
    const secret = ['--password-file', file('admin-password.txt', 'long enough\n')]
    expect((await runHere([...create, '--name', 'Ada', ...secret])).stdout).to.equal('Ada\n')
    const again = await runHere([...create, ...secret])
    expect(again.exitCode).to.equal(7)
    expect(again.stderr).to.contain('service users reset')
    const other = ['service', 'admin', 'create', 'bob@example.com', '--data', dir, '--jq', '.email']
    const piped = await runChatctl(flags.sandbox, [...other, '--password-stdin'], { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('bob@example.com\n')
  },
  'service:users:reset password-stdin, password-file, keep-password, data': async () => {
    const dir = dataDirectory('reset')
    const secret = ['--password-file', file('admin-password.txt', 'long enough\n')]
    await runHere(['service', 'admin', 'create', 'ada@example.com', '--data', dir, ...secret])
    const reset = ['service', 'users', 'reset', 'Ada@example.com', '--data', dir, '--jq', '.role', '--yes']
    expect((await runHere([...reset, ...secret])).stdout).to.equal('admin\n')
    const piped = await runChatctl(flags.sandbox, [...reset, '--password-stdin'], { stdin: 'another one\n' })
    expect(piped.stdout).to.equal('admin\n')
    expect((await runHere([...reset, '--keep-password'])).stdout).to.equal('admin\n')
    const audit = [
      ...'service audit --action user.reset --data'.split(' '),
      dir,
      '--jq',
      '[.[].after.password_changed]',
    ]
    expect(JSON.parse((await runHere(audit)).stdout)).to.deep.equal([true, true, null])
    expect(await runHere([...reset, ...secret, '--keep-password'])).to.include({ exitCode: 2, stdout: '' })
    expect((await runHere([...reset, '--password-file', file('short', 'x')])).exitCode).to.equal(2)
    expect((await runHere([...reset.slice(0, -1), ...secret])).exitCode).to.equal(3)
    const none = ['service', 'users', 'reset', 'none@example.com', '--data', dir]
    expect((await runHere([...none, ...secret])).exitCode).to.equal(6)
  },
  'service:users:offboard export, force, keep-audit, yes, data': async () => {
    const dir = dataDirectory('offboard')
    const secret = ['--password-file', file('admin-password.txt', 'long enough\n')]
    const users = (...words: string[]) => runHere([...words, '--data', dir], { SUDO_USER: 'eve o\n' })
    const ids: string[] = []
    for (const email of ['ada@example.com', 'bob@example.com', 'eve@example.com', 'zoe@example.com']) {
      const create = ['service', 'admin', 'create', email, '--data', dir, ...secret, '--jq', '.id']
      ids.push((await runHere(create)).stdout.trim())
    }
    const [ada = '', bob = ''] = ids
    const path = join(flags.sandbox.home, 'ada.json')
    const ends = ['service', 'users', 'offboard', 'Ada@example.com', '--export', path]
    expect((await users(...ends)).stderr).to.include('ada@example.com (0 API keys, 0 trusts')
    expect(await users(...ends.with(3, ada).with(5, '-'), '--yes')).to.include({ exitCode: 2, stdout: '' })
    file('ada.json', 'of another user')
    expect((await users(...ends, '--yes')).stderr).to.include('--force')
    const report = await users(...ends, '--yes', '--force', '--json')
    const steps: Record<string, unknown>[] = JSON.parse(report.stdout)
    expect(steps.map(({ step }) => step)).to.deep.equal(['disable', 'verify', 'export', 'delete', 'verify'])
    expect(steps[1]).to.include({ credentials: 1 })
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    expect(JSON.parse(readFileSync(path, 'utf8')).user).to.include({ id: ada, email: 'ada@example.com' })
    expect((await users('service', 'users', 'show', ada)).exitCode).to.equal(6)
    const audit = async (...words: string[]) =>
      (await runHere(['service', 'audit', '--data', dir, '--json', ...words])).stdout
    expect(await audit('--target', String(steps[3]?.['audit_subject']))).not.to.include('ada')
    expect(await audit('--actor', 'machine:eve_o_')).to.include('user.delete')
    const shown = await audit('--actor', 'machine')
    expect(shown).to.include('"machine:eve_o_"').and.include('admin.create')
    const kept = 'service users delete bob@example.com --keep-audit --yes --jq .audit_subject'.split(' ')
    expect((await users(...kept)).stdout).to.equal(`${bob}\n`)
    const last = [
      ...'service users offboard eve@example.com --export'.split(' '),
      `${path}.eve`,
      '--keep-audit',
      '--yes',
    ]
    expect((await users(...last, '--jq', '.[3].audit_subject')).stdout).to.equal(`${ids[2]}\n`)
    const seen = (await users('service', 'users', 'disable', 'zoe@example.com', '--yes')).stderr
    expect(seen).to.include('the last admin who can sign in').and.include('service admin create')
  },
  'service:audit since, until, actor, action, target, limit, data': async () => {
    const dir = dataDirectory('audit')
    const made = ['service', 'keys', 'create', '--name', 'one', '--data', dir, '--jq', '.id']
    const [one, two] = [(await runHere(made)).stdout.trim(), (await runHere(made)).stdout.trim()]
    await runHere(['service', 'keys', 'update', one, '--name', 'two', '--data', dir])
    const seen = async (...given: string[]) => {
      const args = ['service', 'audit', '--data', dir, '--jq', '[.[] | .action, .target] | join(" ")']
      return (await runHere([...args, ...given])).stdout.trim()
    }
    const [first, second, third] = [`key.create ${one}`, `key.create ${two}`, `key.update ${one}`]
    expect(await seen()).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--limit', '2')).to.equal(`${second} ${third}`)
    expect(await seen('--action', 'key.create')).to.equal(`${first} ${second}`)
    expect(await seen('--action', 'key', '--target', two)).to.equal(second)
    expect(await seen('--action', 'ke')).to.equal('')
    expect(await seen('--actor', 'machine')).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--actor', 'admin@localhost')).to.equal('')
    expect(await seen('--since', '1h')).to.equal(`${first} ${second} ${third}`)
    expect(await seen('--until', '1h')).to.equal('')
    expect(await seen('--since', '2999-01-01')).to.equal('')
    const store = openSqlite(dir)
    const byKey = { ...localAuditContext(systemClock), actor: 'usr_admin', keyId: two }
    const change = { action: 'key.update', target: 'settings', before: null } as const
    for (let n = 0; n < 60; n++) await recordChange(store.db, byKey, { ...change, after: { n } })
    await store.close()
    const audit = ['service', 'audit', '--data', dir]
    const count = [...audit, '--jq', 'length']
    expect(await runHere(count)).to.include({ stdout: '63\n', stderr: '' })
    expect((await runHere(audit)).stderr).to.include('the newest 50 of 63 entries. Show all with: --limit 63')
    expect(await runHere([...count, '--since', '1h'])).to.include({ stdout: '63\n', stderr: '' })
    expect((await runHere([...audit, '--since', '1h', '--limit', '60'])).stderr).to.include('--limit 63')
    expect((await runHere([...audit, '--actor', two])).stderr).to.include('50 of 60 entries')
    // Both keys have this name.
    expect((await runHere([...count, '--actor', 'one', '--limit', '99'])).stdout).to.equal('60\n')
    const unknown = await runHere([...count, '--actor', 'nobody'])
    expect(unknown).to.include({ exitCode: 6 })
    expect(unknown.stderr).to.include('No user or API key').and.include('chatctl service keys list')
  },
  'service:backup to, data, force': async () => {
    const dir = dataDirectory('backup')
    await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir])
    const copy = join(flags.sandbox.home, 'copy.db')
    const { stdout } = await runHere(['service', 'backup', '--to', copy, '--data', dir, '--jq', '.file'])
    expect(stdout).to.equal(`${copy}\n`)
    expect(existsSync(copy)).to.equal(true)
    const again = ['service', 'backup', '--to', copy, '--data', dir]
    expect((await runHere(again)).exitCode).to.equal(7)
    expect((await runHere([...again, '--force'])).exitCode).to.equal(0)
    const refused = await runHere(['service', 'backup', '--to', '-', '--data', dir], {
      cwd: flags.sandbox.home,
    })
    expect(refused).to.include({ exitCode: 2, stdout: '' })
    expect(existsSync(join(flags.sandbox.home, '-'))).to.equal(false)
  },
  'service:restore data, yes': async () => {
    const dir = dataDirectory('restore')
    await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir])
    const copy = join(flags.sandbox.home, 'to-restore.db')
    await runHere(['service', 'backup', '--to', copy, '--data', dir])
    const other = dataDirectory('restored')
    const args = ['service', 'restore', copy, '--data', other]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect(existsSync(other)).to.equal(false)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(0)
    const shown = (await runHere(['service', 'keys', 'list', '--data', other, '--jq', '.[].name'])).stdout
    expect(shown).to.equal('x\n')
  },
  'service:trust:create issuer, audience, subject, permission, expires, tier, limit, user, data':
    async () => {
      const dir = dataDirectory('trust')
      const create = ['service', 'trust', 'create', 'deploy', '--data', dir]
      const given = ['--issuer', 'https://ci.example/', '--audience', 'a b', '--subject', 'repo:acme/*:x']
      const permissions = '--permission read:chat --permission *:users --permission read:chat'.split(' ')
      const limits = ['--expires', '1h', '--tier', 'enterprise', '--limit', '7', '--user', 'Admin@localhost']
      const made = await runHere([...create, ...given, ...permissions, ...limits, '--json'])
      const { id: _, created_at: __, ...trust } = JSON.parse(made.stdout)
      expect(trust).to.deep.equal({
        name: 'deploy',
        issuer: 'https://ci.example/',
        audience: 'a b',
        subject: 'repo:acme/*:x',
        permissions: ['read:chat', '*:users'],
        user_id: 'usr_admin',
        user_email: 'admin@localhost',
        tier: 'enterprise',
        limit: 7,
        expires_in: 3600,
        last_used_at: null,
      })
      const again = await runHere([...create, ...given, ...permissions])
      expect(again.exitCode).to.equal(7)
      expect(again.stderr).to.contain('chatctl service trust revoke deploy')
      expect(
        (await runHere([...create.with(3, 'plain'), ...given, ...permissions, '--jq', '.expires_in'])).stdout,
      ).to.equal('900\n')
      const refused: [string[], string][] = [
        [['--issuer', 'http://ci.example'], 'https://'],
        [['--issuer', 'https://user@ci.example'], 'issuer'],
        [['--issuer', 'ci.example'], 'issuer'],
        [['--subject', '*'], 'the whole owner'],
        [['--subject', 'repo:**'], 'the whole owner'],
        [['--subject', 'repo:acme**'], 'the whole owner'],
        [['--subject', 'a***'], 'use ** instead'],
        [['--subject', 'a\n'], 'control characters'],
        [['--audience', 'a\u0007'], 'control characters'],
        [['--permission', 'read:chta'], 'Did you mean read:chat?'],
        [['--expires', '59s'], '1 minute to 1 hour'],
        [['--expires', '61m'], '1 minute to 1 hour'],
      ]
      for (const [words, sentence] of refused) {
        const [flag = ''] = words
        const rest = [...given, ...permissions.slice(0, 2)]
        const others = rest.filter((_word, index) => rest[index - (index % 2)] !== flag)
        const slip = await runHere([...create.with(3, 'slip'), ...others, ...words])
        expect(slip.exitCode, words.join(' ')).to.equal(2)
        expect(slip.stderr, words.join(' ')).to.contain(sentence)
      }
      expect((await runHere([...create.with(3, 'a b'), ...given, ...permissions])).exitCode).to.equal(2)
    },
  'service:trust:revoke data, yes': async () => {
    const dir = dataDirectory('trust')
    const args = ['service', 'trust', 'revoke', 'deploy', '--data', dir]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect((await runHere([...args.slice(0, 4), '--yes'])).exitCode).to.equal(6)
    expect((await runHere([...args, '--yes', '--jq', '.name'])).stdout).to.equal('deploy\n')
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(6)
    const audit = [
      ...'service audit --data'.split(' '),
      dir,
      ...'--target deploy --jq'.split(' '),
      '[.[] | .action] | join(" ")',
    ]
    expect((await runHere(audit)).stdout).to.equal('trust.create trust.revoke\n')
    const mistyped = await runHere(['service', 'audit', '--data', dir, '--target', 'deployer'])
    expect(mistyped).to.include({ exitCode: 6 })
    expect(mistyped.stderr)
      .to.include('No user, API key, or trust "deployer"')
      .and.include('chatctl service trust list')
  },
  'service:sessions:revoke data, yes': async () => {
    const dir = dataDirectory('sessions-revoke')
    const id = await plantBrowserSession(dir)
    const args = ['service', 'sessions', 'revoke', id, '--data', dir]
    expect((await runHere(args)).exitCode).to.equal(3)
    expect((await runHere([...args.slice(0, 4), '--yes'])).exitCode).to.equal(6)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(0)
    expect((await runHere([...args, '--yes'])).exitCode).to.equal(6)
  },
  'service:run host, port, data, model-server, model-server-key-file': async () => {
    await flags.server.serve(
      json(200, { choices: [{ message: { role: 'assistant', content: 'From above' } }] }),
    )
    const dir = dataDirectory('run')
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir, '--jq', '.key'])
    const port = await freePort()
    const modelServer = [
      '--model-server',
      `${flags.server.url}/v1`,
      '--model-server-key-file',
      file('up.key', 'model-server-key\n'),
    ]
    await serve(
      ['--host', '127.0.0.1', '--port', String(port), '--data', dir, ...modelServer],
      async (url) => {
        expect(url).to.equal(`http://127.0.0.1:${port}`)
        const { stdout, stderr } = await runHere(['chat', 'complete', 'Hi', '--model', 'm'], {
          CHATCTL_BASE_URL: url,
          CHATCTL_API_KEY: made.stdout.trim(),
        })
        expect(stdout, stderr).to.equal('From above\n')
        expect(flags.server.requests.at(-1)?.headers.authorization).to.equal('Bearer model-server-key')
      },
    )
  },
  'service:run tls-cert, tls-key': async () => {
    const { cert, key } = makeCertificate('127.0.0.1')
    const files = ['--tls-cert', file('tls.crt', cert), '--tls-key', file('tls.key', key)]
    await serve(['--port', '0', ...files], async (url) => {
      expect(url).to.match(/^https:/)
    })
    const run = ['service', 'run', '--port', '0']
    expect(await runHere([...run, '--tls-cert', 'x'])).to.include({ exitCode: 2 })
    expect(await runHere([...run, '--tls-key', 'x'])).to.include({ exitCode: 2 })
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
    for (const [flag, status] of [
      [[], 401] as const,
      [['--openai'], 401] as const,
      [['--no-openai'], 404] as const,
    ])
      await serve(['--port', '0', ...flag], async (url) => {
        expect((await fetch(`${url}/openai/v1/models`)).status).to.equal(status)
      })
  },
  'service:run openai-field': async () => {
    const dir = dataDirectory('fields')
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir, '--jq', '.key'])
    await serve(['--port', '0', '--data', dir, '--openai-field', 'temperature'], async (url) => {
      const send = (field: object) =>
        fetch(`${url}/openai/v1/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' },
          body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], ...field }),
        })
      expect((await send({ temperature: 1 })).status).to.equal(200)
      const refused = await send({ n: 2 })
      expect([refused.status, await refused.text()].join()).to.match(/^400.*\bn\b/)
    })
  },
  'service:run openai-body-limit': async () => {
    const dir = dataDirectory('limit')
    const made = await runHere(['service', 'keys', 'create', '--name', 'x', '--data', dir, '--jq', '.key'])
    await serve(['--port', '0', '--data', dir, '--openai-body-limit', '1k'], async (url) => {
      const send = async (size: number) => {
        const body = JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }).padEnd(size)
        const headers = { authorization: `Bearer ${made.stdout.trim()}`, 'content-type': 'application/json' }
        return (await fetch(`${url}/openai/v1/chat/completions`, { method: 'POST', headers, body })).status
      }
      expect([await send(1024), await send(1025)]).to.deep.equal([200, 413])
    })
    for (const wrong of [['0'], ['65m'], ['1k', '--no-openai']])
      expect(await runHere(['service', 'run', '--openai-body-limit', ...wrong])).to.include({ exitCode: 2 })
  },
  'service:run admin-port': async () => {
    const adminOf = async (...flag: string[]) => {
      let admin: unknown
      await serve(['--port', '0', ...flag], async () => {
        admin = JSON.parse((await runHere(['service', 'status', '--json'])).stdout).running.admin_url
      })
      return admin
    }
    const port = await freePort()
    expect(await adminOf('--admin-port', String(port))).to.equal(`http://127.0.0.1:${port}`)
    expect(await adminOf('--admin-port', 'off')).to.equal(null)
    expect(await adminOf()).to.match(/^http:/)
    for (const none of ['65536', '-1', 'on', '1.5'])
      expect(await runHere(['service', 'run', '--admin-port', none]), none).to.include({ exitCode: 2 })
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
