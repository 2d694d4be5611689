import { type ReactNode, useEffect } from 'react';
import { removeDirectionMarks } from '../format/one-direction';

interface PageProps {
  /** Title of the page: its h1 and the title of the browser tab. */
  title: string;
  /** Content next to the title, such as a status. */
  aside?: ReactNode;
  actions?: ReactNode;
  /** Whether the page is as high as the window, because it contains a list that scrolls. */
  full?: boolean;
  children: ReactNode;
}

export function Page({ title, aside, actions, full, children }: PageProps) {
  useEffect(() => {
    document.title = `${removeDirectionMarks(title.slice(0, 80))} · Muster`;
  }, [title]);
  return (
    <div className={`flex flex-col gap-4 p-4 sm:p-5 ${full ? 'h-full min-h-0' : ''}`}>
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0">
          <bdi>{title}</bdi>
        </h1>
        {aside}
        {actions && <div className="ml-auto flex flex-wrap gap-2">{actions}</div>}
      </div>
      {children}
    </div>
  );
}

interface PanelProps {
  title: string;
  actions?: ReactNode;
  /** Whether to omit the section's name, because its content, such as a single field, already has it. */
  unnamed?: boolean;
  children: ReactNode;
}

export function Panel({ title, actions, unnamed, children }: PanelProps) {
  return (
    <section aria-label={unnamed ? undefined : title} className="min-w-0 rounded-panel border border-line bg-surface">
      <div className="flex min-h-11 flex-wrap items-center gap-2 border-b border-line px-3.5 py-1.5">
        <h2>{title}</h2>
        {actions && <div className="ml-auto flex flex-wrap justify-end gap-2">{actions}</div>}
      </div>
      <div className="p-3.5 [&>form]:max-w-xl">{children}</div>
    </section>
  );
}

/** A list of names and values. With `isStacked`, for long texts, a narrow window shows each value below its name. */
export function FactList({ facts, isStacked }: { facts: [name: string, value: ReactNode][]; isStacked?: boolean }) {
  return (
    <dl
      className={`grid gap-x-4 gap-y-1.5 [&_time]:whitespace-normal ${isStacked ? 'sm:grid-cols-[fit-content(45%)_1fr]' : 'grid-cols-[fit-content(45%)_1fr]'}`}
    >
      {facts.map(([name, value], at) => (
        <div key={at} className="contents">
          <dt className="[overflow-wrap:anywhere] text-dim">{name}</dt>
          <dd className="min-w-0 [overflow-wrap:anywhere]">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Note on an empty page or list about what will be shown there, and how to get it. */
export function EmptyNote({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex flex-col items-center gap-2 px-4 py-10 text-center">
      <p className="font-medium">{title}</p>
      {children && <div className="max-w-prose text-dim">{children}</div>}
    </div>
  );
}

export function Skeleton({ rows = 4 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="flex animate-pulse flex-col gap-2">
      {Array.from({ length: rows }, (_, at) => (
        <div key={at} className="h-6 rounded bg-sunken" />
      ))}
    </div>
  );
}

const fills: Record<string, string> = { failed: 'bg-bad', cancelled: 'bg-idle', completed: 'bg-good' };

interface ProgressProps {
  percent: number;
  label: string;
  /** Status that sets the color, so that a failed or cancelled operation does not look completed. */
  status?: string;
}

export function Progress({ percent, label, status = '' }: ProgressProps) {
  const whole = Math.round(Math.min(100, Math.max(0, percent)));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={whole}
      aria-valuemin={0}
      aria-valuemax={100}
      className="h-1.5 w-full min-w-16 overflow-hidden rounded-full bg-sunken"
    >
      <div className={`h-full rounded-full ${fills[status] ?? 'bg-accent'}`} style={{ width: `${whole}%` }} />
    </div>
  );
}
