import { expect } from 'chai'
import { type CompletionTree, suggest } from '../../../src/cli/completion/suggest.ts'
import type { LiveValues } from '../../../src/cli/completion/suggestions.ts'
import { permissions, roles, themeModes } from '../../../src/cli/completion/values.ts'
import { defaultFormats } from '../../../src/config/output-formats.ts'
import { settingsKeys } from '../../../src/contract/resources/settings-file.ts'
import { effectivePermissions, listPermissions } from '../../../src/service/domain/access/permissions.ts'
import { type ServiceCall, serviceCalls } from '../../support/command-lines.ts'
import { createJobPool } from '../../support/job-pool.ts'
import { commands, topics, wordsOf } from '../../support/manifest.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { json, startScriptedServer } from '../../support/scripted-server.ts'

const themeKeys = settingsKeys.flatMap(({ path }) => (path.startsWith('theme.') ? path : [])).sort()
const program = {
  commands,
  topics: topics.map((topic) => ({ name: topic.replaceAll(' ', ':'), description: `About ${topic}` })),
} as unknown as CompletionTree

const asked: object[] = []
const live: LiveValues = {
  configuration: () => ({ profiles: { work: { aliases: { best: 'large' } } } }),
  models: async (said) => {
    asked.push(JSON.parse(JSON.stringify(said)))
    return ['small', 'large']
  },
  prompts: async () => new Map(Object.entries({ review: [], translate: ['language', 'level'] })),
  sessions: async () => [
    { id: 's20261121-1', title: 'A trip', contextId: 'ctx_1' },
    { id: 's20261122-2', title: 'A recipe\nof two lines' },
  ],
}

/** The candidates for the last word of the line, which may be empty or incomplete. */
async function offered(line: string): Promise<string[]> {
  const { candidates } = await suggest(line.split(' '), program, live)
  return candidates.map(({ value }) => value)
}

describe('tab completion', () => {
  const table: [line: string, values: string[]][] = [
    ['se', ['service', 'settings']],
    ['chat se', ['send', 'sessions']],
    ['chat send --prompt ', ['review', 'translate']],
    ['-c --prompt ', ['review', 'translate']],
    ['chat send --prompt translate --var ', ['language=', 'level=']],
    ['chat send --prompt translate --var language=', []],
    ['chat prompts delete re', ['review']],
    ['chat prompts ', ['delete', 'list', 'set', 'show']],
    ['chat prompts unknown ', []],
    ['config set model_server=o', ['model_server=ollama']],
    ['config set -p work model=b', ['model=best']],
    ['config get model_server=', []],
    ['chat send --base-url http://127.0.0.1 --model b', []],
    ['config set -p work model b', ['best']],
    ['config get alias', ['alias.', 'alias.best']],
    ['config set alias.x la', ['large']],
    ['-p x help chat se', ['send', 'sessions']],
    ['compl', []],
    ['--v', ['--version']],
    ['--h', ['--help']],
    ['-p x --v', []],
    ['-p x chat se', ['send', 'sessions']],
    ['-qo y', ['yaml']],
    ['--model x chat se', []],
    ['settings --', ['--help']],
    ['chat send --no-s', ['--no-save', '--no-stream']],
    ['chat send --stream --no-st', []],
    ['chat send --cont', ['--context', '--continue']],
    ['settings api set --allowed-origin a --allowed-o', ['--allowed-origin']],
    ['chat models -- --js', []],
    ['chat models --output j', ['json', 'jsonl']],
    ['settings diff -o m', ['markdown']],
    ['chat models -oj', ['-ojson', '-ojsonl']],
    [
      'chat show x --output=',
      ['--output=html', '--output=json', '--output=jsonl', '--output=markdown', '--output=text'],
    ],
    ['chat send --stream-format s', ['sse']],
    ['chat send --model ', ['large', 'small']],
    ['config set model ', ['large', 'small']],
    ['config set model_server ', ['llama.cpp', 'lm-studio', 'none', 'ollama']],
    ['config get model_', ['model_server', 'model_server_key_file']],
    ['config get base_url ', []],
    ['chat show s2026112', ['s20261121-1', 's20261122-2']],
    ['chat --context ', ['ctx_1']],
    ['settings get theme', themeKeys],
    ['settings set theme', themeKeys.map((key) => `${key}=`)],
    ['settings set theme.mode=dark theme', themeKeys.slice(1).map((key) => `${key}=`)],
    ['settings set theme.mode=', ['theme.mode=dark', 'theme.mode=light', 'theme.mode=system']],
    ['settings set features.chat=', ['features.chat=false', 'features.chat=true']],
    ['settings set app_name=', []],
    ['users permissions assign u1 assign:', ['assign:*', 'assign:permissions']],
    ['users permissions assign u1 assign:* assign:', ['assign:permissions']],
    ['users permissions assign ', []],
    ['service keys create --permission al', ['all']],
    ['service trust create ci --permission a', ['assign:*', 'assign:permissions']],
    ['users update u1 --notifications ', ['off', 'on']],
    ['chat models --fields ', ['created', 'id', 'object', 'owned_by']],
    ['chat models --fields id,o', ['id,object', 'id,owned_by']],
    ['api GET /v1/set', ['/v1/settings', '/v1/settings/preferences']],
    ['api PATCH /v1/u', ['/v1/users/']],
    ['users get wo', []],
    ['chat send -f a.ts --model s', ['small']],
  ]
  const tableOfValues =
    'If src changed what the values are, change `table` in test/cli/completion/suggest.test.ts'
  for (const [line, values] of table)
    it(`offers the values for: chatctl ${line}`, async () =>
      expect(await offered(line), tableOfValues).to.deep.equal(values))

  for (const [line, paths] of [
    ['users import ', 'files'],
    ['chat complete --messages ', 'files'],
    ['settings apply -f ', 'files'],
    ['config set model_server_key_file ', 'files'],
    ['service status --data ', 'directories'],
    ['chat send ', undefined],
    ['chat send -f ', 'files'],
    ['chat send -f a.ts ', 'files'],
    ['chat send -f a.ts b.ts --', undefined],
    ['chat send -f a.ts -- ', undefined],
    ['users get ', undefined],
  ] as const)
    it(`leaves ${paths ?? 'nothing'} to the shell for: chatctl ${line}`, async () =>
      expect((await suggest(line.split(' '), program, live)).paths).to.equal(paths))

  it('describes each candidate', async () => {
    for (const [line, ...descriptions] of [
      ['chat show ', 'A trip', 'A recipe of two lines'],
      ['chat send --model', "Model to use (default: the service's choice)"],
      ['setting', 'About settings'],
    ] as const) {
      const { candidates } = await suggest(line.split(' '), program, live)
      expect(candidates.map(({ description }) => description)).to.deep.equal(descriptions)
    }
  })

  it('offers sessions by their IDs, their names, or the words in them', async () => {
    const sessions = async (word: string) => {
      expect(word).not.to.contain('=')
      const names = ['Lake Baikal', 'Rome', 'Again', 'Again']
      return names.map((name, index) => ({ title: 'then', id: `s${index + 1}`, name }))
    }
    for (const [line, values, areFound] of [
      // Names only if they begin so: each session has one.
      ['chat show ', ['s1', 's2', 's3', 's4'], undefined],
      ['chat show s', ['s1', 's2', 's3', 's4'], undefined],
      ['chat show La', ['Lake Baikal'], undefined],
      // A name of several sessions would be ambiguous.
      ['chat show Ag', ['s1', 's2', 's3', 's4'], true],
      ['chat --resume=bai', ['--resume=Lake Baikal', '--resume=s2', '--resume=s3', '--resume=s4'], true],
    ] as const) {
      const found = await suggest(line.split(' '), program, { ...live, sessions })
      const shown = found.candidates.map(({ value }) => value)
      expect(shown, line).to.deep.equal(values)
      expect(found.areFound, line).to.equal(areFound)
    }
  })

  it('requests the models of the service that the command line names', async () => {
    asked.length = 0
    await offered('chat send -p work --model ')
    await offered('-p home chat send --model ')
    await offered('chat send --base-url=https://chat.example --model ')
    const expected = [{ profile: 'work' }, { profile: 'home' }, { base_url: 'https://chat.example' }]
    expect(asked).to.deep.equal(expected)
  })

  it('omits names with control characters or line separators', async () => {
    const models = async () => ['a\nb', 'a\tb', 'a\u2028b', 'ok']
    const { candidates } = await suggest(['chat', '--model', ''], program, { ...live, models })
    expect(candidates.map(({ value }) => value)).to.deep.equal(['ok'])
  })
})

describe('the values that completion offers without a request', () => {
  it('are the permissions and roles of the embedded service', () => {
    const list = 'Change `permissions` in src/cli/completion/values.ts'
    expect(permissions, list).to.deep.equal([...listPermissions()].sort())
    for (const role of roles) expect(effectivePermissions(role, []), role).not.to.deep.equal([])
  })

  it('are the themes of the embedded service and the output formats of commands that have others than most', async () => {
    using sandbox = createSandbox()
    const theme = await runChatctl(sandbox, ['settings', 'set', 'theme.mode=x', '-p', 'local'])
    for (const mode of themeModes) expect(theme.stderr).to.contain(mode)
    for (const { id, documentFormats, offersMarkdown } of commands) {
      const forms = documentFormats ?? (offersMarkdown ? defaultFormats : undefined)
      // A session needs a terminal.
      if (forms === undefined || id === 'chat') continue
      const args = id === 'chat:show' ? ['x'] : []
      const { stderr } = await runChatctl(sandbox, [...wordsOf(id), ...args, '--output', 'none'])
      expect(stderr).to.match(/is not one of [^.\n]*/)
      const said = /is not one of (.*)$/m.exec(stderr)?.[1]?.split(', ').sort()
      expect(said).to.deep.equal([...forms].sort())
    }
  })

  it('are the known fields of every command that lists them', async function () {
    this.timeout(60_000)
    using sandbox = createSandbox()
    const inTurn = createJobPool(4)
    const calls = serviceCalls.filter(({ name }) => commands.some(({ id }) => id === name))
    const compare = async ({ name, args, stdin, answer }: ServiceCall) => {
      await using server = await startScriptedServer(json(200, answer))
      const call = [...args, '--fields', 'no-such-field', '--json']
      const { stderr } = await runChatctl(sandbox, call, { service: server, ...(stdin && { stdin }) })
      const known = /Known: ([^"]*)"/.exec(stderr)?.[1]?.split(', ').sort()
      if (known === undefined) return []
      const rule = `${name}: the view in src/view, and this call in test/support/command-lines.ts, need the same fields`
      expect(await offered(`${wordsOf(name).join(' ')} --fields `), rule).to.deep.equal(known)
      return [name]
    }
    const compared = await Promise.all(calls.map((call) => inTurn(() => compare(call))))
    expect(compared.flat()).to.have.length.at.least(15)
  })
})
