import { serveDbos } from './dbos-workflow';

void serveDbos({ durableReports: false });
