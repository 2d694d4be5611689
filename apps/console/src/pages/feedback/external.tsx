import type { FeedbackSubmission } from '../../api/generated';

/** Links to the issue and the task that track a report. */
export function TrackerLinks({ submission: { external } }: { submission: FeedbackSubmission }) {
  const links = [
    ['Issue', external?.issueUrl],
    ['Task', external?.taskUrl],
  ] as const;
  const known = links.filter(([, url]) => url && /^https?:/.test(url));
  if (known.length === 0) return <span className="text-dim">–</span>;
  return (
    <span className="flex gap-2">
      {known.map(([name, url]) => (
        <a key={name} href={url!} target="_blank" rel="noreferrer" className="text-accent hover:underline">
          {name}
        </a>
      ))}
    </span>
  );
}
