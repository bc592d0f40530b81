import { expect } from 'chai'
import { PromptLibrary } from '../../../src/config/prompts/prompt-library.ts'
import { Directories } from '../../../src/system/files/directories.ts'
import { perTest } from '../../support/lifetime.ts'
import { type SessionRun, SessionWorld } from './session-run.ts'

describe('/prompt', () => {
  const world = perTest(() => SessionWorld.open())
  let run: SessionRun
  beforeEach(async () => {
    const directories = new Directories({ HOME: world.home, USERPROFILE: world.home })
    const library = new PromptLibrary(directories)
    library.write('translate', 'Translate to {{language}}: {{input}}\n')
    library.write('brief', '---\nmodel: fast\ntemperature: 0.5\nsystem: Answer in {{style}}.\n---\n')
    library.write('bad', '{{')
    run = await world.run(undefined, { directories, aliases: { fast: 'small-1' } })
  })

  it('fills the input with the prompt, which Enter sends', async () => {
    await run.say(
      '/prompt translate language="old French" Good night',
      /^> Translate to old French: Good night/m,
    )
    expect(world.server.sends).to.deep.equal([])
    await run.say('', 'You said: Translate to old French: Good night')
    expect(world.server.sends[0]).to.include({ message: 'Translate to old French: Good night' })
  })

  it('applies the parameters and the model of the prompt, and says so', async () => {
    await run.say('/prompt brief style=prose', /system: Answer in prose\.\s+temperature: 0\.5/)
    await run.terminal.waitFor('Using model small-1 from now on')
    await run.say('Hello', 'You said: Hello')
    expect(world.server.completions.at(-1)).to.deep.include({ model: 'small-1', temperature: 0.5 })
  })

  it('lists the prompts, and shows what is missing, unknown, or invalid', async () => {
    await run.say('/prompt', /^bad\nbrief\ntranslate$/m)
    await run.say('/prompt translate Hi', 'Type: /prompt translate language=VALUE')
    await run.say('/prompt translate languages=x Hi', 'has no variable languages')
    await run.say('/prompt translate language=x', 'needs a message')
    await run.say('/prompt bad', 'bad.md:1:1: {{')
    await run.say('/prompt translated', 'Did you mean translate?')
    await run.say('/prompt unlike', 'List the prompts with: /prompt')
    expect(world.server.sends).to.deep.equal([])
  })

  it('completes names, and then variables', async () => {
    await run.terminal.type('/prompt tr\t')
    await run.terminal.waitFor('> /prompt translate')
    await run.terminal.type('\t')
    await run.terminal.waitFor('> /prompt translate language=')
  })
})
