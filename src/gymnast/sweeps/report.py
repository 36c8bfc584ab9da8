def write_report(folder, state):
    return folder.report_path
