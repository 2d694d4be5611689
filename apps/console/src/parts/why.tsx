import { Time } from '../format/time';

const times = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A message of the service about a machine, with its times in the viewer's time zone. */
export function ExplanationText({ text }: { text: string }) {
  return text.split(times).map((part, at) => (at % 2 === 1 ? <Time key={at} at={part} /> : part));
}
