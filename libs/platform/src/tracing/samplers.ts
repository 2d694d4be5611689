/** As OpenTelemetry names them in OTEL_TRACES_SAMPLER. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/** Whether a trace is kept. The ratio's answer is the same for a trace whoever asks, so all processes keep the same ones. */
export function samplerOf(
  name: SamplerName,
  isInRatio: (traceId: string) => boolean,
): (traceId: string, asked: boolean | undefined) => boolean {
  const own = (traceId: string) => name.endsWith('always_on') || (name.endsWith('traceidratio') && isInRatio(traceId));
  return name.startsWith('parentbased_') ? (traceId, asked) => asked ?? own(traceId) : own;
}
