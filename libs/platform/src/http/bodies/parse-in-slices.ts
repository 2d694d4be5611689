import { AppError } from '@muster/contracts';
import { setImmediate as breathe } from 'node:timers/promises';
import { hasHalfSurrogatePair } from './text-faults';

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
  while (!reader.readTokens(stepsPerTurn)) await breathe();
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
  /** Stack: for each object that is not complete yet, the key of its next value. */
  private readonly keys: string[] = [];
  /** Number of members that each unfinished object or list has so far. */
  private readonly sizes: number[] = [];

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
  ) {}

  /** Reads up to `steps` tokens. Returns whether the end of the text was reached. */
  readTokens(steps: number): boolean {
    for (let step = 0; step < steps; step += 1) {
      const code = this.skipToNextCode();
      if (this.next === 'nothing') {
        if (this.at < this.text.length) throw notJsonError();
        return true;
      }
      if (this.next === 'comma or end') this.readComma(code);
      else if (this.next === 'key' || this.next === 'key or end') this.readKey(code);
      else this.readValue(code);
    }
    return false;
  }

  private skipToNextCode(): number {
    for (; ; this.at += 1) {
      const code = this.text.charCodeAt(this.at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
    }
  }

  private readValue(code: number): void {
    if (code === 0x7b) this.beginContainer({}, 'key or end');
    else if (code === 0x5b) this.beginContainer([], 'item or end');
    else if (code === 0x5d && this.next === 'item or end') this.endContainer();
    else if (code === 0x22) this.addValue(this.readString());
    else {
      plain.lastIndex = this.at;
      const token = plain.exec(this.text)?.[0];
      if (token === undefined) throw notJsonError();
      this.at += token.length;
      this.addValue(JSON.parse(token));
    }
  }

  private readKey(code: number): void {
    if (code === 0x7d && this.next === 'key or end') return this.endContainer();
    if (code !== 0x22) throw notJsonError();
    const key = this.readString();
    if (key === '__proto__') throw forbiddenKeyError();
    this.keys[this.open.length - 1] = key;
    if (this.skipToNextCode() !== 0x3a) throw notJsonError();
    this.at += 1;
    this.next = 'value';
  }

  private readComma(code: number): void {
    const isList = Array.isArray(this.open.at(-1));
    if (code === 0x2c) {
      this.at += 1;
      this.next = isList ? 'value' : 'key';
    } else if (code === (isList ? 0x5d : 0x7d)) this.endContainer();
    else throw notJsonError();
  }

  private beginContainer(container: Container, next: Next): void {
    if (this.open.length === this.limits.maxDepth) throw tooDeepError(this.limits.maxDepth);
    this.at += 1;
    this.open.push(container);
    this.sizes[this.open.length - 1] = 0;
    this.next = next;
  }

  private endContainer(): void {
    this.at += 1;
    this.addValue(this.open.pop());
  }

  private addValue(value: unknown): void {
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
    else this.setMember(into, value);
    this.next = 'comma or end';
  }

  private setMember(into: Record<string, unknown>, value: unknown): void {
    const at = this.open.length - 1;
    this.sizes[at]! += 1;
    if (this.sizes[at]! > this.limits.maxNames) {
      throw new AppError('payload_too_large', {
        detail: `The body contains an object of more than ${this.limits.maxNames.toLocaleString('en-US')} names.`,
      });
    }
    const key = this.keys[at]!;
    const reaches = typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');
    if (key === 'constructor' && reaches) throw forbiddenKeyError();
    into[key] = value;
  }

  private readString(): string {
    const from = this.at;
    let end = from;
    do end = this.text.indexOf('"', end + 1);
    while (end !== -1 && this.isEscaped(end, from));
    if (end === -1) throw notJsonError();
    this.at = end + 1;
    return this.checkString(parseJsonText(this.text.slice(from, this.at)));
  }

  private isEscaped(quote: number, from: number): boolean {
    let slash = quote - 1;
    while (slash > from && this.text.charCodeAt(slash) === 0x5c) slash -= 1;
    return (quote - slash) % 2 === 0;
  }

  private checkString(value: string): string {
    if (value.includes('\0'))
      throw invalidBodyError('The body contains a string with the character U+0000. Remove this character.');
    if (!hasHalfSurrogatePair(value)) return value;
    if (this.limits.halfPairs === 'refuse') throw halfPairError();
    return value.replace(surrogates, '\ufffd');
  }
}

function parseJsonText(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw notJsonError();
  }
}

export function notJsonError(): AppError {
  return invalidBodyError('The body is not valid JSON. Send one JSON object.');
}

export function forbiddenKeyError(): AppError {
  return invalidBodyError('The body contains a forbidden key (__proto__ or constructor).');
}

export function halfPairError(): AppError {
  return invalidBodyError('The body contains a string with half of a surrogate pair, which is not a valid character.');
}

export function tooDeepError(maxDepth: number): AppError {
  return invalidBodyError(`The body is nested deeper than ${maxDepth} levels.`);
}

export function invalidBodyError(detail: string): AppError {
  return new AppError('invalid_payload', { detail });
}
