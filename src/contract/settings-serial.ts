/** An extension of the interface by the embedded service (docs/reference/service.md, "Settings"). */
export const settingsSerialHeader = 'x-settings-serial'
