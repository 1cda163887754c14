/** Zone and theme. The zone is part of what one sees, so the address carries it; both are remembered in the browser. */
import { computed, effect, signal } from '@preact/signals'
import { LOCAL_ZONE } from '../time/zone.ts'
import { changeQuery, place } from './address.ts'
import { server } from './session.ts'

export const ZONE_CHOICES = ['browser', 'utc', 'server'] as const
export type ZoneChoice = (typeof ZONE_CHOICES)[number]
export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

export const theme = signal<Theme>(recall('theme', THEMES) ?? 'system')
export const PAGE_SIZES = ['25', '50', '100', '250'] as const
export type PageSize = (typeof PAGE_SIZES)[number]
/** How many rows a list has. */
export const pageSize = signal<PageSize>(recall('rows', PAGE_SIZES) ?? '50')

export function choosePageSize(size: string): void {
  const known = PAGE_SIZES.find((one) => one === size)
  if (known === undefined) return
  pageSize.value = known
  keep('rows', known)
}

const remembered = signal<ZoneChoice>(recall('zone', ZONE_CHOICES) ?? 'browser')

/** What the address says: one of the choices, or any zone by its name. */
export const zoneChoice = computed(() => place.value.query.get('zone') ?? remembered.value)

/** As `time/zone` takes it. */
export const zone = computed(() => {
  const choice = zoneChoice.value
  if (choice === 'utc') return 'UTC'
  if (choice === 'server') return server.value?.zone ?? 'UTC'
  return choice === 'browser' || !isZone(choice) ? LOCAL_ZONE : choice
})

export function chooseZone(choice: string): void {
  const known = ZONE_CHOICES.find((name) => name === choice)
  if (known !== undefined) {
    remembered.value = known
    keep('zone', known)
  }
  changeQuery({ zone: choice }, 'replace')
}

export function nextZone(): void {
  const at = ZONE_CHOICES.findIndex((name) => name === zoneChoice.value)
  chooseZone(ZONE_CHOICES[(at + 1) % ZONE_CHOICES.length] ?? 'browser')
}

export function nextTheme(): void {
  const at = THEMES.indexOf(theme.value)
  theme.value = THEMES[(at + 1) % THEMES.length] ?? 'system'
  keep('theme', theme.value)
}

export function startTheme(): void {
  effect(() => {
    document.documentElement.dataset['theme'] = theme.value
  })
}

function isZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A browser may refuse to remember: then nothing is remembered. */
function keep(name: string, value: string): void {
  try {
    localStorage.setItem(`punctual.${name}`, value)
  } catch {
    return
  }
}

function recall<T extends string>(name: string, allowed: readonly T[]): T | undefined {
  try {
    const found = localStorage.getItem(`punctual.${name}`)
    return allowed.find((value) => value === found)
  } catch {
    return undefined
  }
}
