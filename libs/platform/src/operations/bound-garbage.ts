import { setFlagsFromString } from 'node:v8';

/**
 * Left alone, V8 lets garbage take up to three times what lives before it collects it all. Half of it costs a collection
 * more every few seconds under load, each of some milliseconds, and what a service holds stays flat.
 */
export function boundGarbage(): void {
  setFlagsFromString('--heap-growing-percent=50');
}
