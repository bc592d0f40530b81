import { existsSync } from 'node:fs'
import { join } from 'node:path'
import * as Args from '@oclif/core/args'
import * as Flags from '@oclif/core/flags'
import { parse } from '@oclif/core/parser'
import { expect } from 'chai'
import fc from 'fast-check'
import { assignment, commandLine, commandWith, endCommand, quoteWord } from '../../../src/cli/command-line.ts'
import { type CompletionTree, suggest } from '../../../src/cli/completion/suggest.ts'
import { optionalTextFlag, textFlag } from '../../../src/cli/flags/flag-types.ts'
import { flagLabel } from '../../../src/cli/help/command-page.ts'
import { parseNestedFields } from '../../../src/cli/input/key-values.ts'
import { readLine, readShortForm } from '../../../src/cli/line/read-line.ts'
import { markOmittedValues, wordsFromEnvironment } from '../../../src/cli/line/words-for-parser.ts'
import ChatSend from '../../../src/commands/chat/send.ts'
import { splitCommand } from '../../../src/system/split-command.ts'
import { expectFailure } from '../../support/expect-failure.ts'
import { perSuite } from '../../support/lifetime.ts'
import { runChatctl } from '../../support/run-chatctl.ts'
import { createSandbox } from '../../support/sandbox.ts'
import { thrownFailure } from '../../support/thrown-failure.ts'

describe('a command line to paste', () => {
  it('has other values of flags before --', () => {
    const argv = ['--each', 'a.csv', '--', '--each', 'b']
    const line = commandWith({ id: 'chat:send', argv }, { each: 'c.csv' })
    expect(line).to.equal('chatctl chat send --each c.csv -- --each b')
  })

  it('has every word as a POSIX shell reads it', () =>
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme' })), (words) => {
        const line = words.map((word) => quoteWord(word, 'linux')).join(' ')
        expect(splitCommand(line, undefined, 'linux')).to.deep.equal(words)
      }),
    ))

  for (const [word, quoted] of [
    ['work', 'work'],
    ['my prof', '"my prof"'],
    ['C:\\Users\\ada\\a.csv', 'C:\\Users\\ada\\a.csv'],
    ['C:\\My Files\\', '"C:\\My Files\\\\"'],
    ["it's", '"it\'s"'],
    ['a&b|c', '"a&b|c"'],
    ['@file', '"@file"'],
    ['ada@chat.example', 'ada@chat.example'],
    ['', '""'],
    ['$HOME', "'$HOME'"],
    ['%PATH%', "'%PATH%'"],
    ["don't $x", "'don''t $x'"],
    ['{"a":1}', '\'{\\"a\\":1}\''],
    ['“a”', "'“a”'"],
  ] as const)
    it(`quotes ${JSON.stringify(word)} for cmd.exe and PowerShell as ${quoted}`, () =>
      expect(quoteWord(word, 'win32')).to.equal(quoted))

  it('sets a variable in a POSIX shell, and in cmd.exe and PowerShell', () => {
    expect(assignment('NO_PROXY', 'chat.example', 'linux')).to.equal('export NO_PROXY=chat.example')
    const shown = assignment('NO_PROXY', 'chat.example', 'win32')
    expect(shown).to.equal(`set "NO_PROXY=chat.example", or in PowerShell: $env:NO_PROXY = 'chat.example'`)
  })

  it('ends processes with a program of the system', () => {
    expect(endCommand([5, 7], 'linux')).to.equal('kill 5 7')
    expect(endCommand([5, 7], 'win32')).to.equal('taskkill /F /PID 5 /PID 7')
  })

  it('begins with the program', () =>
    expect(commandLine('auth', 'use', 'my prof')).to.equal('chatctl auth use "my prof"'))
})

describe('a command line', () => {
  const ids = ['chat', 'chat:send', 'settings:get', 'settings:api:set', 'complete']
  for (const [line, id, path, rest, leading] of [
    ['chat send Hello', 'chat:send', 'chat send', 'Hello'],
    ['chat send=x', 'chat', 'chat', 'send=x'],
    ['chat --json send', 'chat', 'chat', '--json send'],
    ['settings api set -', 'settings:api:set', 'settings api set', '-'],
    ['settings get extra words', 'settings:get', 'settings get', 'extra words'],
    ['complete -- chat --help', 'complete', 'complete', '-- chat --help'],
    ['-p work settings -qo json get theme', 'settings:get', 'settings get', 'theme', '-p work -qo json'],
    ['--profile=work chat', 'chat', 'chat', '', '--profile=work'],
    ['settings', undefined, 'settings', ''],
    ['settings gte', undefined, 'settings', 'gte'],
    ['settings:get', undefined, '', 'settings:get'],
    ['--stream chat send', undefined, '', '--stream chat send'],
    ['', undefined, '', ''],
  ] as [line: string, id: string | undefined, path: string, rest: string, leading?: string][])
    it(`names ${id ?? 'no command'}: ${line || 'an empty line'}`, () => {
      const wordsOf = (text = '') => text.split(' ').filter(Boolean)
      const read = { id, path: wordsOf(path), leading: wordsOf(leading), rest: wordsOf(rest), isHelp: false }
      expect(readLine(wordsOf(line), ids)).to.deep.equal(read)
    })

  for (const line of ['help', 'help chat send', 'chat send -h', 'chat send Hello --help', '-p x help chat'])
    it(`asks for help: ${line}`, () => expect(readLine(line.split(' '), ids).isHelp).to.equal(true))
})

describe('a command line without a command', () => {
  const ids = ['chat', 'chat:send', 'settings:get', 'doctor']
  const flags = Object.entries({ ...ChatSend.baseFlags, ...ChatSend.flags })
  const known = flags.map(([name, flag]) => ({ ...flag, name }))
  const read = (...words: string[]) => readShortForm(words, ids, known)

  for (const words of [
    ['What is WAL?'],
    ['-m', 'chat', 'What is WAL?', '--no-stream'],
    ['-p', 'work', '-qx', 'What is WAL?'],
    ['-c', 'why'],
    ['why', '--continue'],
    ['-qc'],
    ['--', 'why'],
    ['-m', 'small', '--', '-why'],
    ['-f', 'a.ts', 'b.ts', 'What is WAL?'],
    ['What is WAL?', '-f', 'a.ts', 'b.ts'],
    ['doctor who is he'],
    ['How do bearer tokens work?'],
  ])
    it(`sends a message: ${words.join(' ')}`, () => {
      const named = { id: 'chat:send', path: ['chat', 'send'], leading: [], rest: words, isHelp: false }
      expect(read(...words)).to.deep.equal(named)
    })

  it('asks for the help of chat send', () => {
    expect(read('What is WAL?', '--help')?.isHelp).to.equal(true)
    expect(read('--', 'What is WAL?', '--help')?.isHelp).to.equal(false)
  })

  for (const words of [
    ['snd'],
    [' snd '],
    ['what', 'is it?'],
    ['what', '--', 'is it?'],
    ['-m', 'what is it?'],
    ['-m', 'small', 'why'],
    ['--bogus', 'why'],
    ['-x'],
    ['-f', 'a.ts'],
    ['settings get'],
    ['help doctor'],
    ['why is sk-abcdef refused'],
    ['-c', 'sk-abcdef'],
    ['--', 'api_key=abc'],
    ['Authorization: Bearer abc'],
    ['-f', 'a.ts', 'why sk-abcdef'],
  ])
    it(`sends nothing: ${words.join(' ')}`, () => expect(read(...words)).to.equal(undefined))
})

const args = { text: Args.string({ ignoreStdin: true }) }
const flags = {
  quiet: Flags.boolean({ char: 'q' }),
  model: textFlag({ char: 'm' }),
  attached: optionalTextFlag({ char: 'x', helpValue: '[=N]' }),
  next: optionalTextFlag({ char: 'r', helpValue: '[NAME]' }),
}

describe('a flag whose value may be omitted', () => {
  const table: [line: string, flags: object, text?: string][] = [
    ['-x Hello', { attached: true }, 'Hello'],
    ['--attached Hello', { attached: true }, 'Hello'],
    ['Hello -x', { attached: true }, 'Hello'],
    ['-x 2', { attached: true }, '2'],
    ['-x2 Hello', { attached: '2' }, 'Hello'],
    ['-x=2 Hello', { attached: '2' }, 'Hello'],
    ['--attached=2 Hello', { attached: '2' }, 'Hello'],
    ['-x -q Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx Hello', { attached: true, quiet: true }, 'Hello'],
    ['-qx2 Hello', { attached: '2', quiet: true }, 'Hello'],
    ['-x -- -q', { attached: true }, '-q'],
    ['-r Hello', { next: 'Hello' }],
    ['--next=Hello', { next: 'Hello' }],
    ['--next', { next: true }],
    ['--next -q Hello', { next: true, quiet: true }, 'Hello'],
    ['--next --attached=3', { next: true, attached: '3' }],
    ['--next one Hello', { next: 'one' }, 'Hello'],
    ['--next -- Hello', { next: true }, 'Hello'],
    ['--model x -r', { model: 'x', next: true }],
    ['-- -x', {}, '-x'],
    ['', {}],
  ]
  for (const [line, given, text] of table)
    it(`is read in: ${line || 'an empty line'}`, async () => {
      const parsed = await parse(markOmittedValues(line.split(' ').filter(Boolean), flags), { args, flags })
      expect(parsed.flags).to.deep.equal(given)
      expect(parsed.args.text).to.equal(text)
    })

  it('does not become the value of the flag before it', async () => {
    const line = markOmittedValues(['--model', '-x'], flags)
    const error = await parse(line, { args, flags }).catch((error: Error) => error)
    expect(error).to.be.an('error').with.property('message', 'Flag --model expects a value')
  })

  it('does not accept an empty value', async () => {
    for (const line of [['--attached='], ['--next='], ['--next', '']]) {
      const parsing = parse(markOmittedValues(line, flags), { args, flags })
      const message = await parsing.catch((error: Error) => error.message)
      expect(message, line.join(' ')).to.include('must not be empty')
    }
  })

  it('shows in the help how its value is given', () => {
    const declared = {
      attached: { ...flags.attached, name: 'attached' },
      next: { ...flags.next, name: 'next' },
    }
    expect(flagLabel(declared.attached)).to.equal('-x, --attached[=N]')
    expect(flagLabel(declared.next)).to.equal('-r, --next [NAME]')
  })

  it('is completed by its value only where the next word may be the value', async () => {
    const named = Object.entries({ ...flags, next: { ...flags.next, options: ['one', 'two'] } }).map(
      ([name, flag]) => [name, { ...flag, name }],
    )
    const command = { id: 'a', args: {}, flags: Object.fromEntries(named) }
    const tree = { commands: [command], topics: [] } as unknown as CompletionTree
    const offered = async (...words: string[]) =>
      (await suggest(words, tree, undefined as never)).candidates.map(({ value }) => value)
    expect(await offered('a', '--next', '')).to.deep.equal(['one', 'two'])
    expect(await offered('a', '--next=')).to.deep.equal(['--next=one', '--next=two'])
    expect(await offered('a', '--next', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--next', '--', 'o')).to.deep.equal([])
    expect(await offered('a', '--attached', '--q')).to.deep.equal(['--quiet'])
    expect(await offered('a', '--attached', '')).to.deep.equal([])
  })
})

describe('a Boolean flag with a value', () => {
  const known = { json: Flags.boolean(), stream: Flags.boolean({ allowNo: true }), system: textFlag() }

  for (const word of ['--json=true', '--stream=', '--no-stream=1'])
    it(`is rejected: ${word}`, () => {
      const [name] = word.split('=')
      expect(() => markOmittedValues([word], known)).to.throw(`${name} does not take a value`)
    })

  it('is accepted as the value of another flag or after --', () => {
    const words = ['--system', '--json=1', '--system=--json=1', '--unknown=1', 'json=1', '--', '--json=1']
    expect(markOmittedValues(words, known)).to.deep.equal(words)
  })
})

describe('the variable of a flag', () => {
  const known = {
    database: { ...textFlag({ char: 'd', dependsOn: ['service'] }), env: 'D' },
    fields: { ...textFlag(), env: 'F' },
    raw: Flags.boolean({ exclusive: ['fields', 'dry-run'] }),
    service: Flags.boolean(),
    'dry-run': { ...Flags.boolean(), env: 'R' },
  }
  const env = { D: 'of D', F: 'of F', R: '1' }
  const table: [line: string, words: string[]][] = [
    ['--service', ['--database=of D', '--fields=of F', '--dry-run']],
    ['--service --database x', ['--fields=of F', '--dry-run']],
    ['--service -dx --fields=y', ['--dry-run']],
    ['--service -- --database x', ['--database=of D', '--fields=of F', '--dry-run']],
    ['', ['--fields=of F', '--dry-run']],
    ['--raw', ['--dry-run']],
  ]
  for (const [line, words] of table)
    it(`is ignored if the line overrules it: ${line || 'an empty line'}`, () =>
      expect(wordsFromEnvironment(known, line.split(' '), env)).to.deep.equal(words))
})

type Case = [line: string | string[], ...words: (string | RegExp)[]]

/** Each line exits 2, sends nothing, and creates no file. */
const cases: Record<string, Case[]> = {
  'with an unknown command': [
    ['snd', 'Unknown command: chatctl snd'],
    ['login', 'Did you mean: chatctl auth login'],
    ['version', 'Did you mean: chatctl --version'],
    ['auth switch work', 'Did you mean: chatctl auth use'],
    ['chat new', /Did you mean: chatctl chat$/m],
    ['service stop', 'Stop the embedded service with Ctrl-C or SIGTERM'],
    ['complet', /Hint: {2}(?!.*chatctl complete\b)/],
    [
      ['settings get'],
      'Did you mean: chatctl settings get',
      'To send it as a message: chatctl -- "settings get"',
    ],
    [['sk-canary: What is it?'], 'Unknown command: chatctl (hidden', 'Do not pass a key'],
    [['-c', 'sk-canary'], 'Unknown command: chatctl (hidden', 'Do not pass a key'],
    [['What is WAL?', '--strem'], 'Unknown flag --strem', 'Did you mean --stream?'],
    [['chat', 'What is WAL?'], 'Send one message with: chatctl chat send "What is WAL?"'],
    ['config reset', /Hint: {2}(?!Did you mean: chatctl config set)/],
    ['users search ada', 'The interface of the service cannot search or list users'],
    ['users delete', 'The interface cannot delete users'],
    ['users set u1 name=x', 'Did you mean: chatctl users update u1 --name x'],
    [['users', 'set', 'u1', 'metadata.a=b c'], 'chatctl users update u1 --metadata "a=b c"'],
    ['users set u1 color=red', /Did you mean: chatctl users update$/m],
    ['service logs', 'The log goes to stderr', 'chatctl service run 2>> FILE'],
    ['chta', 'Did you mean: chatctl chat'],
    ['settings api ste', 'Did you mean: chatctl settings api set'],
    ['chat search plan', 'Unknown command: chatctl chat search', 'Did you mean: chatctl history search'],
    ['chat -m x search', 'Unknown command: chatctl chat search', 'Did you mean: chatctl history search'],
    ['help nope', 'Unknown command: chatctl nope'],
    [[''], 'Unknown command: chatctl ""'],
    ['--bogus', 'no command before --bogus', 'chatctl --help'],
    ['-x', 'no command before -x'],
  ],
  'with a missing argument': [
    ['users get', 'Missing argument ID', 'chatctl users get --help'],
    ['api', 'Missing argument PATH'],
    ['api GET', 'Missing argument PATH'],
    ['api v1/settings', '"v1/settings" is not a path', 'Did you mean: chatctl api GET /v1/settings'],
    ['api settings', 'A path begins with /', 'Did you mean: chatctl api GET /v1/settings'],
    ['api get', 'Missing argument PATH'],
    ['users apply -p local', 'No file of users was given', 'For example: chatctl users apply users.yaml'],
    ['api /v1/users --field a=b', 'A request body requires a method', 'chatctl api POST /v1/users'],
    ['config set model', 'Missing value for model', 'chatctl config unset model'],
    ['service keys create', 'Missing argument NAME'],
    ['service keys create x --name y', '--name and an argument cannot be used together'],
    [['service', 'keys', 'create', ' '], 'Missing argument NAME'],
    ['autocomplete', 'Missing argument SHELL', 'One of bash, zsh, fish, powershell'],
    ['chat send', 'MESSAGE is missing or empty'],
    ['chat complete', 'MESSAGE is missing or empty'],
    [['chat', 'send', '   '], 'MESSAGE is missing or empty'],
    ['users get -', 'No id given'],
  ],
  'with one argument too many': [
    ['chat send a b', 'Unexpected argument b', 'Put the words in quotes: chatctl chat send "a b"'],
    ['chat complete a b', 'Unexpected argument b', 'chatctl chat complete "a b"'],
    [['chat', 'send', 'a b', '2'], 'Unexpected argument 2', 'Hint:  See: chatctl chat send --help'],
    ['settings get theme.mode x', 'Unexpected argument x'],
  ],
  'with an unknown flag': [
    ['chat send hi --strem', 'Unknown flag --strem', 'Did you mean --stream?'],
    ['history list --limt 3', 'Did you mean --limit?'],
    ['history list --verbose', 'Did you mean --debug?'],
    ['--verbose history list', 'Did you mean --debug?'],
    ['history list --url=x', 'Did you mean --base-url?'],
    ['settings apply x --auto_approve', 'Did you mean --yes?'],
    ['history list --auto-approve', /Hint: {2}(?!.*--yes)/],
    ['history list --api-key', 'as an argument', 'CHATCTL_API_KEY', 'chatctl auth login --with-api-key'],
    ['auth login --token', 'as an argument', 'chatctl auth login --with-api-key'],
    ['users create --password', 'as an argument', '--password-stdin', '--generate-password'],
    ['users import f.csv -n', 'Unknown flag -n', 'Did you mean --dry-run?'],
    ['config list --xyzzy', 'Unknown flag --xyzzy', 'chatctl config list --help'],
  ],
  'with a flag that lacks its value': [
    ['history list --limit', '--limit expects a value'],
    [['history', 'list', '--limit='], '--limit: "" is not a whole number'],
    ...['base-url', 'profile', 'fields'].map(
      (flag): Case => [['history', 'list', `--${flag}=`], `--${flag}: must not be empty`],
    ),
    [['history', 'list', '--timeout='], '--timeout: "" is not a duration'],
    [['history', 'list', '--output='], '--output: "" is not one of'],
    [['chat', 'send', 'hi', '--context='], '--context: must not be empty'],
    [['users', 'create', '--email', ''], '--email: must not be empty'],
    [['service', 'status', '--data='], '--data: must not be empty'],
  ],
  'with a flag given twice': [
    ['history list --limit 1 --limit 2', '--limit can only be specified once'],
    ['users update ID --metadata a=1 --metadata a=2', '--metadata a was given twice'],
    ['users settings set --notification email=on --notification email=off', 'email was given twice'],
    ['settings set limits.max_tokens=1 limits.max_tokens=2', 'limits.max_tokens was given twice'],
  ],
  'with a value of the wrong type': [
    ['history list --limit 1.5', '--limit: "1.5" is not a whole number'],
    ['chat complete hi --temperature warm', '--temperature: "warm" is not a number'],
    ['chat complete hi --temperature 0x10', 'is not a number'],
    ['users update ID --notifications maybe', '"maybe" must be on, off, true, or false'],
    ['users update ID --metadata company', '--metadata "company" is not KEY=TEXT or KEY:=JSON'],
    ['users update ID --metadata seats:=five', '--metadata seats: "five" is not valid JSON', 'seats=five'],
    ['settings set limits.max_tokens=abc', 'limits.max_tokens: "abc" must be an integer'],
    ['settings set theme.primary_color=red', 'must have the form #RRGGBB'],
    [
      'users settings set --notification email=maybe',
      '--notification email: "maybe" must be on, off, true, or false',
      'email=on',
    ],
    ['settings set theme.mode', '"theme.mode" is not KEY=VALUE'],
    ['settings set theme.mdoe=dark', 'Did you mean theme.mode?'],
    [['settings', 'set', '=dark'], '"=dark" is not KEY=VALUE'],
    ['users permissions assign ID read -p local', 'permissions.0 must have the form <action>:<resource>'],
    ['service run --port 65536', '--port: "65536" is not between 0 and 65535'],
    ['service keys create --name x --tier gold', '--tier: "gold" is not one of free, pro, enterprise'],
    ['service keys create --name x --tier enterprise --limit 0', 'at least 1'],
    ['autocomplete ksh', '"ksh" is not one of bash, zsh'],
    ['api GET foo', 'The path must begin with /', 'such as /v1/settings'],
    ['api GET //elsewhere.example/x', 'must not begin with //'],
    [['api', 'G ET', '/v1/settings'], 'is not an HTTP method'],
    [['api', 'GET', '/v1/settings\r\nX: y'], 'control characters'],
    ['api GET /v1/settings -H invalid', '--header "invalid" is not "Name: value"'],
    [['api', 'GET', '/v1/settings', '-H', 'a: b\r\nc: d'], 'header a contains characters'],
    ['api POST /v1/users --data {', 'The request body is not valid JSON'],
    ['api POST /v1/users --field email', '--field "email" is not KEY=TEXT'],
  ],
  'with an option out of range': [
    ['history list --timeout soon', '--timeout: "soon" is not a duration such as 500ms'],
    ['history list --timeout 0', '--timeout: "0" must be longer than 0'],
    ['history list --max-wait 1d', '--max-wait: "1d" is not a duration'],
    ['history list --retries -1', '--retries: "-1" is not a whole number from 0 to 999'],
    ['history list --output xml', '--output: "xml" is not one of table, json'],
  ],
  'with flags that contradict each other': [
    ['history list --json -o yaml', '--json and --output yaml cannot be used together'],
    [['history', 'list', '-o', 'csv', '--jq', '.'], '--jq filters JSON', '--output csv'],
    ['chat send hi --stream -o yaml', '--stream writes text or JSON, not yaml'],
    ['chat send hi --context c --continue', '--context and --continue cannot be used together'],
    ['history export --stored --local', /^Error: --stored and --local cannot be used together$/m],
    ['users create --password-stdin --generate-password', 'cannot be used together'],
    ['api POST / --data {} --field password=canary', /^Error: --data and --field cannot be used together$/m],
    ['settings get theme.mode --fields theme', 'KEY and --fields cannot be combined'],
    ['service run --model-server-key-file k', '--model-server-key-file requires a model server'],
    ['service keys create --name x --limit 5', 'tier free is 100 requests per hour'],
    ['users update ID', 'No change was given', 'chatctl users update --help'],
    ['settings api get', 'The interface of the service cannot read the API configuration', '--last-sent'],
    ['users permissions assign ID', 'No permission and no role'],
  ],
  'with an invalid ID': [
    ['users get ..', 'The id must not be ".."'],
    [['users', 'get', ''], 'The id must not be empty'],
    [['users', 'get', 'a\u001b[31mb'], 'The id contains control characters'],
    [['users', 'update', '..', '--name', 'x', '-p', 'local'], 'The id must not be ".."'],
    [['users', 'permissions', 'assign', '.', 'read:chat', '-p', 'local'], 'The id must not be "."'],
  ],
  'with --fields that do not exist': [
    ['service keys create --name x --fields nope', 'Unknown field "nope"', 'Known: id, name'],
    ['users create --generate-password --fields emial -p local', 'Did you mean email?'],
    ['config list --fields key,vlaue', 'Did you mean value?'],
    [['users', 'create', '--generate-password', '--fields', ' , '], '--fields is empty'],
  ],
}

describe('an invalid command line', () => {
  const sandbox = perSuite(createSandbox)

  for (const [title, lines] of Object.entries(cases))
    describe(title, () => {
      for (const [line, ...words] of lines) {
        const args = typeof line === 'string' ? line.split(' ') : line
        it(`exits 2 and names the problem: ${JSON.stringify(args.join(' '))}`, async () =>
          expectFailure(await runChatctl(sandbox, args), 2, ...words))
      }
    })

  it('writes no data and no configuration', () => {
    expect(existsSync(join(sandbox.home, '.local'))).to.equal(false)
    expect(existsSync(join(sandbox.home, '.config'))).to.equal(false)
  })

  for (const line of [
    ...['history list --limit x --json', 'history list --jq .[', 'nope -o json'],
    ...['--json', 'users get --output=json'],
  ])
    it(`exits 2 with a JSON error if JSON is requested: ${line}`, async () => {
      const run = await runChatctl(sandbox, line.split(' '))
      expect(run).to.include({ exitCode: 2, stdout: '' })
      expect(JSON.parse(run.stderr).error).to.include({ code: 'usage' })
    })

  it('names the variable if the value comes from an environment variable', async () => {
    const wrong = { TIMEOUT: 'soon', RETRIES: '-1', OUTPUT: 'xml', MAX_WAIT: 'x', PROFILE: 'nope' }
    for (const [name, value] of Object.entries(wrong)) {
      const run = await runChatctl(sandbox, ['history', 'list'], { env: { [`CHATCTL_${name}`]: value } })
      expectFailure(run, 2, `CHATCTL_${name}:`)
    }
  })
})

describe('an unusual but valid command line', () => {
  const sandbox = perSuite(createSandbox)

  for (const id of ['a/b', '../admin', 'ü☃', 'a b?c=d#e', '%2e%2e'])
    it(`treats an ID such as ${id} as one path segment`, async () =>
      expectFailure(await runChatctl(sandbox, ['users', 'get', id]), 6, `User "${id}" not found`))

  it('names commands that begin with npm start if npm started the program', async () => {
    const env = { npm_lifecycle_event: 'start', npm_package_name: 'chatctl' }
    for (const words of [['login'], ['login', '--json']]) {
      const { stderr } = await runChatctl(sandbox, words, { env })
      expect(stderr).to.contain('Did you mean: npm start -- auth login').and.contain('npm start -- -- login')
      expect((await runChatctl(sandbox, words)).stderr).to.contain('Did you mean: chatctl auth login')
    }
    const notice = await runChatctl(sandbox, ['chat', 'sessions', '-o', 'table'], { env })
    expect(notice.stderr).to.contain('List all sessions with: npm start -- chat sessions')
    const checks = await runChatctl(sandbox, ['doctor', '-p', 'local'], { env })
    expect(checks.stdout).to.contain('with: npm start -- config set').and.not.to.contain(': chatctl ')
  })

  it('sends a message without the name of the command, followed by stdin', async () => {
    for (const words of [['What is it?'], ['-p', 'local', 'What is it?', '--json'], ['-q', '--', 'What']]) {
      const { stdout, stderr } = await runChatctl(sandbox, ['--dry-run', ...words], { stdin: 'diff' })
      expect(stdout, stderr).to.match(/"message": ?"What( is it\?)?\\n\\ndiff"/)
    }
  })

  it('prints the version for -v and -V', async () => {
    for (const word of ['-v', '-V'])
      expect((await runChatctl(sandbox, [word])).stdout).to.match(/^chatctl \d+\.\d+\.\d+\n$/)
  })

  it('leaves limits that the interface does not define to the service', async () => {
    const run = await runChatctl(sandbox, ['history', 'list', '--limit', '0'])
    expectFailure(run, 1, 'limit must be between 1 and 100')
  })

  it('exits 1, not 2, if the jq filter fails on the response, because the request was made', async () => {
    const args = ['service', 'keys', 'create', '--name', 'x', '--jq', '.name | error']
    const run = await runChatctl(sandbox, args)
    expect(run).to.include({ exitCode: 1, stdout: '' })
    // The key would be lost otherwise.
    const [notice = '', error = ''] = run.stderr.trim().split('\n')
    expect(JSON.parse(notice).notice.key).to.match(/^ck_/)
    expect(JSON.parse(error).error).to.include({ code: 'invalid_response' })
    expect((await runChatctl(sandbox, ['service', 'keys', 'list', '--jq', 'length'])).stdout).to.equal('1\n')
  })
})

const parsePairs = (...pairs: string[]) => parseNestedFields(pairs, '--field')

/** A name as a key has it. */
const escaped = (name: string): string => name.replace(/[\\.=:[]/g, '\\$&')

/** The fields of an object, with each string as text and everything else as JSON. */
const fieldsOf = (value: Record<string, unknown>, above = ''): string[] =>
  Object.entries(value).flatMap(([name, inner]) => {
    const key = above + escaped(name)
    if (typeof inner === 'string') return [`${key}=${inner}`]
    const isGroup = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
    if (isGroup && Object.keys(inner).length > 0) return fieldsOf(inner as Record<string, unknown>, `${key}.`)
    if (Array.isArray(inner) && inner.length > 0)
      return inner.map((item) => `${key}[]:=${JSON.stringify(item)}`)
    return [`${key}:=${JSON.stringify(inner)}`]
  })

describe('nested fields', () => {
  it('give back any object of which they are the fields', () => {
    const name = fc
      .oneof(fc.string({ minLength: 1 }), fc.constantFrom('a.b', 'a[]', ':', '=', '\\', '.', 'toString'))
      .filter((text) => text !== '__proto__')
    const { object } = fc.letrec<{ object: Record<string, unknown>; value: unknown }>((tie) => ({
      object: fc.dictionary(name, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      value: fc.oneof(
        { maxDepth: 3 },
        fc.string(),
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(fc.oneof(fc.string(), fc.integer()), { maxLength: 3 }),
        tie('object'),
      ),
    }))
    fc.assert(
      fc.property(object, (value) => {
        expect(parsePairs(...fieldsOf(value))).to.deep.equal(value)
      }),
    )
  })

  const examples: [string[], unknown][] = [
    [['a\\=b=c=d'], { 'a=b': 'c=d' }],
    [['a:b=c'], { 'a:b': 'c' }],
    [['a=b:=c'], { a: 'b:=c' }],
    [['C\\d=x'], { 'C\\d': 'x' }],
    [['a:={"b":1}'], { a: { b: 1 } }],
  ]
  for (const [pairs, value] of examples)
    it(`reads ${pairs.join(' ')} as ${JSON.stringify(value)}`, () =>
      expect(parsePairs(...pairs)).to.deep.equal(value))

  const refused: [string[], string][] = [
    [['a=1', 'a.b=2'], '--field a.b was given twice, or contradicts another key'],
    [['a.b=2', 'a=1'], '--field a was given twice, or contradicts another key'],
    [['a[]=1', 'a=2'], '--field a was given twice, or contradicts another key'],
    [['a:={"b":1}', 'a.c=2'], '--field a.c was given twice, or contradicts another key'],
    [['a.b=1', 'a.b=1'], '--field a.b was given twice, or contradicts another key'],
    [['a..b=1'], '--field a..b has an empty name'],
    [['a.=1'], '--field a. has an empty name'],
    [['[]=1'], '--field [] has an empty name'],
    [['a.__proto__.b=1'], '--field cannot be named __proto__'],
    [['a'], '--field "a" is not KEY=TEXT or KEY:=JSON'],
    [['a\\=b'], '--field "a\\=b" is not KEY=TEXT or KEY:=JSON'],
    [[':=1'], '--field ":=1" is not KEY=TEXT or KEY:=JSON'],
    [['a.b:=x'], '--field a.b: "x" is not valid JSON'],
  ]
  for (const [pairs, words] of refused)
    it(`refuses ${pairs.join(' ')}`, () =>
      expect(thrownFailure(() => parsePairs(...pairs))).to.include({ kind: 'usage', message: words }))
})
