import { AppError } from '@muster/contracts';
import { setImmediate as breathe } from 'node:timers/promises';
import { hasHalfPair } from './text-faults';

export interface JsonLimits {
  maxDepth: number;
  maxValues: number;
  /** Maximum number of names in one object. */
  maxNames: number;
  halfPairs: 'refuse' | 'replace';
}

const stepsPerTurn = 10_000;

/** Parses like JSON.parse, but in slices, so that other work can run while a large text is parsed. */
export async function parseInSlices(text: string, limits: JsonLimits): Promise<unknown> {
  const reader = new JsonReader(text, limits);
  while (!reader.read(stepsPerTurn)) await breathe();
  return reader.result;
}

type Container = unknown[] | Record<string, unknown>;
type Next = 'value' | 'item or end' | 'key' | 'key or end' | 'comma or end' | 'nothing';

const plain = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const surrogates = /\p{Surrogate}/gu;

class JsonReader {
  result: unknown;
  private at = 0;
  private next: Next = 'value';
  private values = 0;
  private readonly open: Container[] = [];
  /** For each open object, the key of its next value. */
  private readonly keys: string[] = [];
  /** Number of members that each open container has so far. */
  private readonly sizes: number[] = [];

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
  ) {}

  /** Reads up to `steps` tokens. Returns whether the end of the text was reached. */
  read(steps: number): boolean {
    for (let step = 0; step < steps; step += 1) {
      const code = this.nextCode();
      if (this.next === 'nothing') {
        if (this.at < this.text.length) throw notJson();
        return true;
      }
      if (this.next === 'comma or end') this.comma(code);
      else if (this.next === 'key' || this.next === 'key or end') this.key(code);
      else this.value(code);
    }
    return false;
  }

  private nextCode(): number {
    for (; ; this.at += 1) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
    }
  }

  private value(code: number): void {
    if (code === 0x7b) this.begin({}, 'key or end');
    else if (code === 0x5b) this.begin([], 'item or end');
    else if (code === 0x5d && this.next === 'item or end') this.end();
    else if (code === 0x22) this.put(this.string());
    else {
      plain.lastIndex = this.at;
      const token = plain.exec(this.text)?.[0];
      if (token === undefined) throw notJson();
      this.at += token.length;
      this.put(JSON.parse(token));
    }
  }

  private key(code: number): void {
    if (code === 0x7d && this.next === 'key or end') return this.end();
    if (code !== 0x22) throw notJson();
    const key = this.string();
    if (key === '__proto__') throw forbidden();
    this.keys[this.open.length - 1] = key;
    if (this.nextCode() !== 0x3a) throw notJson();
    this.at += 1;
    this.next = 'value';
  }

  private comma(code: number): void {
    const isList = Array.isArray(this.open.at(-1));
    if (code === 0x2c) {
      this.at += 1;
      this.next = isList ? 'value' : 'key';
    } else if (code === (isList ? 0x5d : 0x7d)) this.end();
    else throw notJson();
  }

  private begin(container: Container, next: Next): void {
    if (this.open.length === this.limits.maxDepth) throw tooDeep(this.limits.maxDepth);
    this.at += 1;
    this.open.push(container);
    this.sizes[this.open.length - 1] = 0;
    this.next = next;
  }

  private end(): void {
    this.at += 1;
    this.put(this.open.pop());
  }

  private put(value: unknown): void {
    this.values += 1;
    if (this.values > this.limits.maxValues) {
      throw new AppError('payload_too_large', {
        detail: `The body has more than ${this.limits.maxValues.toLocaleString('en-US')} values.`,
      });
    }
    const into = this.open.at(-1);
    if (into === undefined) {
      this.result = value;
      this.next = 'nothing';
      return;
    }
    if (Array.isArray(into)) into.push(value);
    else this.member(into, value);
    this.next = 'comma or end';
  }

  private member(into: Record<string, unknown>, value: unknown): void {
    const at = this.open.length - 1;
    this.sizes[at]! += 1;
    if (this.sizes[at]! > this.limits.maxNames) {
      throw new AppError('payload_too_large', {
        detail: `The body contains an object of more than ${this.limits.maxNames.toLocaleString('en-US')} names.`,
      });
    }
    const key = this.keys[at]!;
    const reaches = typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
    if (key === 'constructor' && reaches) throw forbidden();
    into[key] = value;
  }

  private string(): string {
    const from = this.at;
    let end = from;
    do end = this.text.indexOf('"', end + 1);
    while (end !== -1 && this.isEscaped(end, from));
    if (end === -1) throw notJson();
    this.at = end + 1;
    return this.checked(parsed(this.text.slice(from, this.at)));
  }

  private isEscaped(quote: number, from: number): boolean {
    let slash = quote - 1;
    while (slash > from && this.text.charCodeAt(slash) === 0x5c) slash -= 1;
    return (quote - slash) % 2 === 0;
  }

  private checked(value: string): string {
    if (value.includes('\0')) throw invalid('The body contains a string with U+0000.');
    if (!hasHalfPair(value)) return value;
    if (this.limits.halfPairs === 'refuse') throw halfPair();
    return value.replace(surrogates, '\ufffd');
  }
}

function parsed(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw notJson();
  }
}

export function notJson(): AppError {
  return invalid('The body is not valid JSON.');
}

export function forbidden(): AppError {
  return invalid('The body contains a forbidden key (__proto__ or constructor).');
}

export function halfPair(): AppError {
  return invalid('The body contains a string with half of a surrogate pair, which is not a valid character.');
}

export function tooDeep(maxDepth: number): AppError {
  return invalid(`The body is nested deeper than ${maxDepth} levels.`);
}

export function invalid(detail: string): AppError {
  return new AppError('invalid_payload', { detail });
}
