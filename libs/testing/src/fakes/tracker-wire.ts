import type { IncomingHttpHeaders } from 'node:http';

/** A call to a fake tracker, as received. */
export interface TrackerCall {
  method: string;
  /** Path and query of the called URL. */
  path: string;
  headers: IncomingHttpHeaders;
  body: any;
}

export interface Answered {
  status: number;
  body: unknown;
  headers: Record<string, string>;
}

/** Thrown for a request that no real tracker would accept. */
export class WireFault extends Error {}

type Check = (value: unknown) => boolean;

export const checks = {
  text: (max: number) => (value: unknown) => typeof value === 'string' && value.length > 0 && value.length <= max,
  texts: (max: number) => (value: unknown) =>
    Array.isArray(value) && value.every((each) => typeof each === 'string' && each.length > 0 && each.length <= max),
  numbers: (value: unknown) => Array.isArray(value) && value.every((each) => Number.isInteger(each)),
  oneOf:
    (...words: unknown[]) =>
    (value: unknown) =>
      words.includes(value),
  integer: (min: number, max: number) => (value: unknown) =>
    typeof value === 'string' && /^\d+$/.test(value) && Number(value) >= min && Number(value) <= max,
  like: (form: RegExp) => (value: unknown) => typeof value === 'string' && form.test(value),
};

/** Throws unless all fields are known and valid, and all required fields are present. */
export function requireFields(value: unknown, fields: Record<string, Check>, required: string[] = []): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new WireFault('no JSON object');
  for (const [name, each] of Object.entries(value)) {
    const check = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!check) throw new WireFault(`an unknown field ${name}`);
    if (!check(each)) throw new WireFault(`${name} is ${JSON.stringify(each)?.slice(0, 100)}`);
  }
  for (const name of required) if (!Object.hasOwn(value, name)) throw new WireFault(`no ${name}`);
}

export function requireQuery({ searchParams }: URL, fields: Record<string, Check>, required: string[] = []): void {
  const names = [...searchParams.keys()];
  if (new Set(names).size < names.length) throw new WireFault('a query parameter occurs twice');
  requireFields(Object.fromEntries(searchParams), fields, required);
}

export function requireHeaders({ method, headers, body }: TrackerCall, expected: Record<string, string>): void {
  for (const [name, value] of Object.entries(expected)) {
    if (headers[name] !== value) throw new WireFault(`${name} is ${headers[name]}`);
  }
  if (!headers['user-agent']) throw new WireFault('the header user-agent is missing');
  if (method === 'GET' && body !== undefined) throw new WireFault('a GET request has a body');
  if (method === 'GET') return;
  if (!/^application\/json(; ?charset=utf-8)?$/i.test(headers['content-type'] ?? '')) {
    throw new WireFault(`content-type is ${headers['content-type']}`);
  }
}

export function createAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Answered {
  return { status, body, headers };
}
