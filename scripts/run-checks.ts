import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/** `node scripts/run-checks.ts NAME…` runs checks at the same time, and says how to fix what each finds. */

interface Check {
  command: string
  /** What to do if it fails. */
  fix: string
}

const checks: Readonly<Record<string, Check>> = {
  format: {
    // biome ignores NO_COLOR, and colors what it writes to a pipe.
    command: `biome ci ${process.stdout.isTTY && !process.env['NO_COLOR'] ? '' : '--colors=off'} .`,
    fix: 'Run: npm run format\nIt applies the safe fixes. Then fix what it still reports.',
  },
  spelling: {
    command: 'cspell --quiet',
    fix: 'Correct the words. Add correct ones to cspell-words.txt, and fragments in tests to test/fragments.txt.',
  },
  terms: {
    command: 'node scripts/check-terms.ts',
    fix: 'Write what it names after "use". If the word is correct there, add the phrase to the table in docs/style.md.',
  },
  types: {
    command: 'tsc --project .',
    fix: 'Correct these lines.',
  },
  unused: {
    command: 'knip',
    fix: 'Delete what is unused. Add to knip.json a file that something other than an import loads, and a program of the system.',
  },
}

async function run(name: string): Promise<void> {
  const check = checks[name]
  if (check === undefined) throw new Error(`The checks are ${Object.keys(checks).join(', ')}`)
  // scripts/run.mjs adds the programs of the packages to PATH.
  const child = spawn(`${check.command} 2>&1`, { cwd: `${import.meta.dirname}/..`, shell: true })
  const [written, [status]] = await Promise.all([text(child.stdout), once(child, 'close')])
  process.stdout.write(written)
  if (status !== 0) process.stderr.write(`\nThe check "${name}" failed. ${check.fix}\n`)
  process.exitCode ||= status
}

await Promise.all(process.argv.slice(2).map(run))
