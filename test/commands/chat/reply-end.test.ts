import { expect } from 'chai'
import { endings, streamOf } from '../../support/reply-endings.ts'
import { type Behavior, json, stream } from '../../support/scripted-server.ts'
import { serveRuns } from '../../support/served-runs.ts'

/** The exit code and a part of the message for each end that is not complete. */
const codes: Record<string, [number, string]> = {
  complete: [0, ''],
  truncated: [69, 'final event'],
  failed: [69, ''],
  length: [8, 'token limit'],
  filtered: [8, 'content filter'],
  refusal: [8, 'refused'],
  tool_calls: [8, 'called tools'],
  empty: [8, ''],
}

describe('a reply of another service', () => {
  const served = serveRuns()

  it('is on stdout with the exit code and the error of its end', async () => {
    for (const [name, ending] of Object.entries(endings)) {
      const { text, end, tools, words = '', whole } = ending
      const [code, message] = codes[end] ?? []
      const streamed = stream([streamOf(ending)], { type: 'text/event-stream' })
      const runs: [string[], Behavior][] = [
        [['send'], streamed],
        [['send', '--json'], streamed],
        [['send', '--stream', '--json'], streamed],
      ]
      if (whole) runs.push([['complete', '--json'], json(200, whole)])
      for (const [argv, behavior] of runs) {
        const { exitCode, stdout, stderr } = await served.run(['chat', ...argv, 'Hi'], behavior)
        const what = `${name}: ${argv.join(' ')}`
        expect(exitCode, `${what} ${stderr}`).to.equal(code)
        if (code !== 69)
          expect(stdout, what).to.include(argv.length > 1 && text ? JSON.stringify(text).slice(1, -1) : text)
        if (argv.includes('--stream'))
          expect(JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '').end, what).to.equal(end)
        if (argv.length === 1 && code !== 69) {
          const shown = await served.run(['chat', 'show', '--last', '-o', 'json'])
          expect(JSON.parse(shown.stdout).turns.at(-1).end, what).to.equal(end)
          const status = (await served.run(['chat', 'show', '--last'])).stdout.includes('\n[')
          expect(status, what).to.equal(end !== 'complete' || name.includes('unknown'))
        }
        for (const part of [message, words, ...(tools ?? [])]) expect(stderr, what).to.include(part)
        const last = stderr.trimEnd().split('\n').at(-1) ?? ''
        if (code === 8 && argv.includes('--json')) expect(JSON.parse(last).error.code, what).to.equal(end)
        else if (code === 0)
          expect(stderr.includes('full moon'), what).to.equal(name === 'a reason that is unknown')
      }
    }
  })

  it('that is a refusal is not requested again by --schema', async () => {
    const { exitCode, stdout, stderr } = await served.run(
      ['chat', 'send', 'Hi', '--schema', '{"type":"object"}', '--no-save'],
      stream([streamOf(endings['a refusal'] ?? { chunks: [], text: '', end: 'empty' })], {
        type: 'text/event-stream',
      }),
    )
    expect([exitCode, stdout, served.server.requests.length]).to.deep.equal([8, '', 1])
    expect(stderr).to.include('I can’t do that.').and.include('The model refused to reply')
  })
})
