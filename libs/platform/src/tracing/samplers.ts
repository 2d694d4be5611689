/** The values of OTEL_TRACES_SAMPLER that OpenTelemetry defines. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;
export type SamplerName = (typeof samplers)[number];

/**
 * Returns a function that decides whether a trace is recorded. The ratio depends only on the trace id, so all processes
 * record the same traces.
 */
export function createSampler(
  name: SamplerName,
  isInRatio: (traceId: string) => boolean,
): (traceId: string, parentSampled: boolean | undefined) => boolean {
  const decideWithoutParent = (traceId: string) =>
    name.endsWith('always_on') || (name.endsWith('traceidratio') && isInRatio(traceId));
  return name.startsWith('parentbased_')
    ? (traceId, parentSampled) => parentSampled ?? decideWithoutParent(traceId)
    : decideWithoutParent;
}
