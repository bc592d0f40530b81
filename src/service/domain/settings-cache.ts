import { sql } from 'kysely'
import { requireKnownSchema } from '../store/migrations.ts'
import { prepareQuery } from '../store/prepared-query.ts'
import type { Store } from '../store/tables.ts'
import {
  apiConfigurationOf,
  type EffectiveApiConfiguration,
  type EffectiveSettings,
  settingsOf,
} from './settings.ts'

/** The settings and the API configuration in effect. */
export interface CurrentSettings {
  readonly settings: EffectiveSettings
  readonly api: EffectiveApiConfiguration
}

/** The settings and the API configuration for each request, read again only if they may have changed. */
export class SettingsCache {
  readonly #store: Store
  #cached: (CurrentSettings & { generation: number; documents: string }) | undefined
  #reading: { generation: number; done: Promise<CurrentSettings> } | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Returns a change of this process immediately, and one of another process within a second.
   * @throws ApiError `storage_migrated`
   */
  read(): CurrentSettings | Promise<CurrentSettings> {
    const generation = this.#store.generation()
    if (this.#cached?.generation === generation) return this.#cached
    if (this.#reading?.generation !== generation) {
      const reading = { generation, done: this.#read(generation) }
      this.#reading = reading
      const end = () => {
        if (this.#reading === reading) this.#reading = undefined
      }
      reading.done.then(end, end)
    }
    return this.#reading.done
  }

  /** @param generation from before the read, so that a change during the read causes another read */
  async #read(generation: number): Promise<CurrentSettings> {
    const [row] = await selectBoth(this.#store.db, {})
    const { settings, api, schema } = row ?? { settings: '{}', api: '{}', schema: 0 }
    requireKnownSchema(schema)
    const documents = `${settings}\n${api}`
    const known = this.#cached
    const configured =
      known?.documents === documents
        ? known
        : { settings: settingsOf(settings), api: apiConfigurationOf(api) }
    // A read that began earlier may end later than a newer one.
    if (!known || known.generation <= generation) {
      this.#cached = { settings: configured.settings, api: configured.api, generation, documents }
    }
    return configured
  }
}

const selectBoth = prepareQuery((db) =>
  db
    .selectFrom('settings')
    .innerJoin('api_configuration', 'api_configuration.id', 'settings.id')
    .select(['settings.document as settings', 'api_configuration.document as api'])
    .select(sql<number>`(select max(number) from migrations)`.as('schema'))
    .where('settings.id', '=', 1),
)
