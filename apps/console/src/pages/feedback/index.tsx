import type { ColumnDef } from '@tanstack/react-table';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useMemo } from 'react';
import { feedbackStatuses, feedbackTypes } from '@muster/contracts/words';
import {
  type FeedbackSubmission,
  type FeedbackSubmissionList,
  feedbackSubmissionsList,
  type FeedbackSubmissionsListData,
} from '../../api/generated';
import { usePermission } from '../../api/session';
import { useList } from '../../api/use-list';
import { Time } from '../../format/time';
import { EmptyNote, Page } from '../../ui/page';
import { StatusMark } from '../../ui/status-mark';
import { DataTable } from '../../ui/table/data-table';
import { FilterField } from '../../ui/table/filter-field';
import { ListSearchAndFilters } from '../../ui/table/list-tools';
import { useUrlState } from '../../ui/table/use-url-state';
import { TrackerLinks } from './external';
import { typeNames } from './feedback-names';

// The module of this view is loaded when a report is opened, because most visits to the list do not need it.
const SubmissionDetails = lazy(async () => ({ default: (await import('./submission')).SubmissionDetails }));

const getSubmissions = (page: FeedbackSubmissionList) => page.submissions;
const types = feedbackTypes.map((value) => ({ value, label: typeNames[value] }));

/** The user's reports with their status. An admin sees all reports of the organization. */
export function FeedbackPage() {
  const [state, change] = useUrlState();
  const seesAll = usePermission('feedback.admin');
  const { q, type, status, from, to } = state;
  const filter = { q, type, status, from, to } as FeedbackSubmissionsListData['query'];
  const list = useList({
    queryKey: ['feedback', 'list', filter],
    fetchPage: (page, signal) => feedbackSubmissionsList({ query: { ...page, ...filter }, signal }),
    itemsOf: getSubmissions,
  });
  return (
    <Page title="Feedback" full>
      <ListSearchAndFilters
        search="Search reports"
        filters={[
          { name: 'status', label: 'Status', options: feedbackStatuses },
          { name: 'type', label: 'Type', options: types },
        ]}
      >
        <FilterField name="from" label="From" type="date" />
        <FilterField name="to" label="To" type="date" />
      </ListSearchAndFilters>
      <DataTable
        label="Feedback"
        list={list}
        columns={useSubmissionColumns(seesAll)}
        rowId={({ id }) => id}
        empty={
          <EmptyNote title={q || type || status || from || to ? 'No reports match the filters.' : 'No reports yet.'}>
            Report a bug or an idea on any page with the button next to your account. Report a workflow issue on the
            page of its run.
          </EmptyNote>
        }
      />
      <Suspense>
        {state['id'] && <SubmissionDetails id={state['id']} close={() => change({ id: undefined })} />}
      </Suspense>
    </Page>
  );
}

function useSubmissionColumns(seesAll: boolean): ColumnDef<FeedbackSubmission>[] {
  return useMemo(
    () => [
      {
        id: 'status',
        header: 'Status',
        meta: { className: 'w-32' },
        cell: ({ row: { original } }) => <StatusMark status={original.status} />,
      },
      {
        id: 'title',
        header: 'Title',
        cell: ({ row: { original } }) => (
          <Link
            to="."
            search={(before) => ({ ...before, id: original.id })}
            className="text-accent hover:underline"
            title={original.title}
          >
            <bdi>{original.title}</bdi>
          </Link>
        ),
      },
      {
        id: 'type',
        header: 'Type',
        meta: { className: 'w-36 max-md:hidden' },
        cell: ({ row: { original } }) => typeNames[original.type],
      },
      ...(seesAll
        ? [
            {
              id: 'reporter',
              header: 'Reported by',
              meta: { className: 'w-52 max-lg:hidden' },
              cell: ({ row: { original } }) => <bdi>{original.reporter.email ?? 'an API key'}</bdi>,
            } satisfies ColumnDef<FeedbackSubmission>,
          ]
        : []),
      {
        id: 'links',
        header: 'Tracked in',
        meta: { className: 'w-36 max-lg:hidden' },
        cell: ({ row: { original } }) => <TrackerLinks submission={original} />,
      },
      {
        id: 'createdAt',
        header: 'Reported',
        meta: { className: 'w-28 max-sm:hidden' },
        cell: ({ row: { original } }) => <Time at={original.createdAt} relative />,
      },
      {
        id: 'updatedAt',
        header: 'Updated',
        meta: { className: 'w-28 max-xl:hidden' },
        cell: ({ row: { original } }) => <Time at={original.updatedAt} relative />,
      },
    ],
    [seesAll],
  );
}
