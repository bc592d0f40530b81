import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { type Browser, chromium, type Page } from 'playwright-core'
import { perSuite } from '../support/lifetime.ts'
import { takeSample } from '../support/take-sample.ts'
import { findPageFaults } from './page-faults.ts'

/** For a person to look at. */
export const screenshots = join(tmpdir(), 'chatctl-screenshots')

/** Call it inside a describe. One Chromium for all tests of the suite. */
export function startChromium(): Browser {
  return perSuite(() => {
    mkdirSync(screenshots, { recursive: true })
    const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'
    return chromium.launch({ executablePath, args: ['--no-sandbox'] })
  })
}

const colorSchemes = ['light', 'dark'] as const

/** Takes a screenshot in each color scheme, or in one with CHATCTL_TEST_SAMPLE, and checks the page that it shows. */
export async function take(page: Page, name: string, fullPage = true): Promise<void> {
  for (const colorScheme of takeSample(colorSchemes, 1).sample) {
    await page.emulateMedia({ colorScheme })
    const path = join(screenshots, `${name}-${colorScheme}.png`)
    const image = await page.screenshot({ path, fullPage })
    expect(image.length).to.be.above(2_000)
    expect(await findPageFaults(page), name).to.deep.equal([])
  }
}
