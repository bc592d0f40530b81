import { expect } from 'chai'
import { failing, type Script } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** What GitHub and Azure would run if a line of a log began with the first, or contained one of the others. */
const command = 'x\n::set-output name=a::b\n##[add-path]c ##vso[task.complete]d'

describe('text of a file or a service in a CI log', () => {
  const { run, file } = serveRuns()
  const quoted = JSON.stringify(command)
  const cases: [title: string, args: () => string[], script?: Script][] = [
    ['a key of a settings file', () => ['settings', 'diff', file('a.yaml', `${quoted}: 1\n`)]],
    ['two keys', () => ['settings', 'diff', file('a.yaml', `${quoted}: 1\n"y\\n::z": 1\n`)]],
    ['a repeated key', () => ['settings', 'diff', file('a.json', `{${quoted}: 1, ${quoted}: 2}`)]],
    [
      'a reference',
      () => [
        ...'settings diff --expand-env'.split(' '),
        file('a.yaml', `app_name: ${JSON.stringify(`\${${command}}`)}\n`),
      ],
    ],
    [
      'a column',
      () => ['users', 'import', '--dry-run', file('a.csv', `email,"${command}"\na@b.example,1\n`)],
    ],
    ['a key of a user', () => ['users', 'import', '--dry-run', file('a.jsonl', `{${quoted}: 1}\n`)]],
    ['an error message', () => ['users', 'get', 'u1'], failing(404, 'x', command)],
    ['an error message in JSON', () => ['users', 'get', 'u1', '--json'], failing(404, 'x', command)],
    ['a key in YAML', () => ['users', 'import', '--dry-run', file('a.yaml', `- {${quoted}: 1}\n`)]],
  ]
  for (const [title, args, script] of cases)
    it(`is no command in ${title}`, async () => {
      const { exitCode, stderr } = await run(args(), script)
      expect(exitCode).to.be.oneOf([2, 6, 69])
      expect(stderr).not.to.match(/^\s*::|##\w*\[/m)
      if (title.includes('JSON')) expect(() => JSON.parse(stderr)).not.to.throw()
      // The line break is escaped.
      else expect(stderr).not.to.match(/^\s*: ?:/m)
    })
})
