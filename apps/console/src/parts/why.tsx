import { Time } from '../format/time';

const times = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** The service's own words on a machine, with its times as the viewer's. */
export function Why({ text }: { text: string }) {
  return text.split(times).map((part, at) => (at % 2 === 1 ? <Time key={at} at={part} /> : part));
}
